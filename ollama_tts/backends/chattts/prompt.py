"""Text, voice and marks → the positions that the model reads, in ChatTTS's prompt grammar.

Speech: `[Stts][spk_emb] said-in-recording [speed_5] text [Ptts]` and then, for a voice prompt, the
codes of the recording. Refining: `[Sbreak] text [Pbreak] [oral_2][laugh_0][break_6]`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ollama_tts.backends.chattts import upstream
from ollama_tts.engine.step_model import Prompt
from ollama_tts.errors import InvalidWeights, UnspeakableText
from ollama_tts.options import SpeechOptions
from ollama_tts.text.rules import TextRules

SPEED = "[speed_5]"
PLAIN_MARKS = frozenset({"uv_break", "v_break", "lbreak", "llbreak", "laugh", "music", "pure"})
NUMBERED_MARKS = frozenset({"oral", "laugh", "break", "speed"})
RULES = TextRules(
    languages=("zh", "en"),
    max_chars=180,
    han_weight=2,
    min_chars=4,
    marks=PLAIN_MARKS | NUMBERED_MARKS,
    alphabet="chattts",
)
NEEDED = ("[Stts]", "[Ptts]", "[Sbreak]", "[Pbreak]", "[Ebreak]", "[spk_emb]", "[empty_spk]",
          "[break_0]", SPEED)  # fmt: skip
_BRACKETED = re.compile(r"(\[\w+\])")
_MARK = re.compile(
    rf"\[(?:{'|'.join(sorted(PLAIN_MARKS))}|(?:{'|'.join(sorted(NUMBERED_MARKS))})_\d)\]"
)
_OUTSIDE = re.compile(r"[^\u4e00-\u9fffA-Za-z，。、,. ]")
# Upstream's own reading of punctuation that the model was not trained on.
_PUNCTUATION = str.maketrans(
    dict.fromkeys("：；（）【】『』「」《》－", "，") | dict.fromkeys(":;()><-", ",")
    | {"！": "。", "!": "."}
)  # fmt: skip
_FULL_WIDTH = str.maketrans({",": "，", ".": "。"})


@dataclass(frozen=True, slots=True, eq=False)
class VoicePrompt:
    """Who speaks: a vector, a recording to continue, or neither.

    `vector` float32 [hidden], normalised. `codes` int32 [codebooks, T] with `said`, its text.
    """

    vector: NDArray[np.float32] | None = None
    codes: NDArray[np.int32] | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class RefineLevels:
    """How the refine stage is asked to decorate; None leaves it to the model."""

    oral: int | None = None
    laugh: int | None = None
    break_: int | None = None

    @classmethod
    def asked(cls, options: SpeechOptions) -> "RefineLevels | None":
        """What a request asks of the refine stage; None where it is to be skipped.

        It runs where `refine_text` is set, and where one of its levels is.
        """
        levels = cls(options.oral, options.laugh, options.break_)
        return levels if options.refine_text or levels != cls() else None

    @property
    def prompt(self) -> str:
        """The marks after `[Pbreak]`."""
        levels = (("oral", self.oral), ("laugh", self.laugh), ("break", self.break_))
        return "".join(f"[{name}_{level}]" for name, level in levels if level is not None)


class Prompter:
    """Makes prompts for one model.

    Args:
        tokenizer: The text of the model's `tokenizer.json`.
        codebooks: Columns of a prompt.

    Raises:
        InvalidWeights: Not a tokenizer, or one without ChatTTS's control tokens.
    """

    def __init__(self, tokenizer: str, codebooks: int) -> None:
        try:
            self._tokenizer = Tokenizer.from_str(tokenizer)
        except Exception as error:  # the library has no class of its own
            raise InvalidWeights(f"tokenizer.json is damaged: {error}") from error
        ids: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        missing = [token for token in NEEDED if token not in ids]
        if missing:
            raise InvalidWeights(f"tokenizer.json lacks the tokens {', '.join(missing)}")
        self._codebooks = codebooks
        self.refine_end = ids["[Ebreak]"]
        self._speaker_id = ids["[spk_emb]"]
        self._first_break = ids["[break_0]"]

    @property
    def vocabulary(self) -> int:
        """How many text ids there are."""
        return int(self._tokenizer.get_vocab_size())

    def count(self, text: str) -> int:
        """Text tokens in `text`."""
        return len(self._ids(text))

    def speech(self, text: str, language: str, voice: VoicePrompt) -> Prompt:
        """The prompt that makes `voice` say prepared `text`."""
        who = "[empty_spk]" if voice.vector is None else "[spk_emb]"
        said = f"{voice.said}{SPEED}{self.readable(text, language)}"
        ids = self._ids(f"[Stts]{who}{said}[Ptts]")
        codes = voice.codes if voice.codes is not None else np.empty((self._codebooks, 0), np.int32)
        grid = np.concatenate([np.repeat(ids[:, None], self._codebooks, 1), codes.T])
        is_text = np.arange(len(grid)) < len(ids)
        at = np.flatnonzero(ids == self._speaker_id).astype(np.int32)
        if voice.vector is None:
            at = at[:0]
            injected = np.empty((0, 0), np.float32)
        else:
            injected = np.repeat(voice.vector[None], len(at), 0)
        return Prompt(grid.astype(np.int32), is_text, injected, at)

    def refine(self, text: str, language: str, levels: RefineLevels) -> Prompt:
        """The prompt that makes the model write pauses and laughter into `text`."""
        ids = self._ids(f"[Sbreak]{self.readable(text, language)}[Pbreak]{levels.prompt}")
        grid = np.repeat(ids[:, None], self._codebooks, 1)
        nothing = np.empty((0, 0), np.float32), np.empty(0, np.int32)
        return Prompt(grid, np.ones(len(ids), np.bool_), *nothing)

    def refined(self, ids: list[int]) -> str:
        """The text that the refine stage wrote as `ids`; level marks are dropped, as upstream."""
        kept = [i for i in ids if i < self._first_break]
        return str(self._tokenizer.decode(kept, skip_special_tokens=False))

    def check(self, text: str, language: str) -> None:
        """Refuse prepared text that holds nothing to say.

        Raises:
            UnspeakableText: No letter and no mark is in it.
        """
        if not any(c.isalpha() for c in self.readable(text, language)):
            raise UnspeakableText(f"chattts finds nothing to say in {text[:80]!r}")

    def readable(self, text: str, language: str) -> str:
        """`text` in the characters that the model was trained on; known marks stay.

        The last line of defence behind text preparation, and where Chinese characters that the
        model misreads become ones that sound the same. Other control tokens, which would change
        the prompt's grammar, become plain words.
        """
        parts = _BRACKETED.split(text)
        spoken = (p if _MARK.fullmatch(p) else self._plain(p, language) for p in parts)
        return "".join(spoken).strip()

    def _plain(self, text: str, language: str) -> str:
        text = text.translate(_PUNCTUATION)
        if language == "zh":
            text = text.translate(_FULL_WIDTH)
        return _OUTSIDE.sub("", text.translate(self._homophones))

    @cached_property
    def _homophones(self) -> Mapping[int, str]:
        return upstream.homophones()

    def _ids(self, text: str) -> NDArray[np.int32]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return np.asarray(encoding.ids, np.int32)
