"""Who can speak with a model: named voices, `seed:N`, speaker strings.

A name comes from the checkpoint's `speakers.json` or from an adapter: a text file with a speaker
string or a voice prompt string, or a recording. Beside `anna.wav` an adapter `anna.txt` may hold
what is said in it; a recording is continued better when its text is known.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from ollama_tts.backends.base import Voice
from ollama_tts.backends.chattts import upstream
from ollama_tts.backends.chattts.clip import RECORDINGS, is_recording, text_beside
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.prompt import VoicePrompt
from ollama_tts.backends.chattts.speaker import (
    InvalidSpeaker,
    Statistics,
    decode_codes,
    decode_speaker,
    normalized,
)
from ollama_tts.backends.chattts.voice_names import DEFAULT
from ollama_tts.errors import InvalidOption, InvalidWeights

MAX_SPOKEN_STRING = 16
_SEED = re.compile(r"seed:(-?\d{1,19})")
_FIRST_HAN, _LAST_SPELLED = "\u3d00", "\u8e00"
Encode = Callable[[Path], NDArray[np.int32]]


class VoiceBook:
    """Finds voices by what a request calls them.

    Args:
        config: The model's sizes and statistics.
        speakers: Named speaker strings that lie beside the weights.
        adapters: File name → file, as in `LocalModel.adapters`.
        encode: A recording → its codes int32 [codebooks, T].

    Raises:
        InvalidWeights: A file that names a voice holds none; the text names it.
    """

    def __init__(
        self,
        config: ChatTTSConfig,
        speakers: Mapping[str, str],
        adapters: Mapping[str, Path],
        encode: Encode,
    ) -> None:
        self._config = config
        self._statistics: Statistics | None = None
        self._named: dict[str, VoicePrompt] = {}
        self._recorded: set[str] = set()
        for name, path in adapters.items():
            self._add(name, path, adapters, encode)
        for name, text in speakers.items():
            self._named.setdefault(name, self._spelled(name, text))

    @property
    def voices(self) -> tuple[Voice, ...]:
        """The named ones, the adapters' first; where there are none, the default one.

        They speak all of the model's languages; zh stands first.
        """
        names = self._named or (DEFAULT,)
        return tuple(Voice(name, name, "zh", cloned=name in self._recorded) for name in names)

    @property
    def default(self) -> str:
        """The voice of requests that name none: the first named one, or one fixed random one."""
        return next(iter(self._named), DEFAULT)

    def find(self, voice: str | None) -> VoicePrompt:
        """The voice that a request calls `voice`.

        Raises:
            InvalidOption: There is none; the text says what there is.
        """
        text = (self.default if voice is None else voice).strip()
        if text in self._named:
            return self._named[text]
        seed = _SEED.fullmatch(text)
        if seed is not None and -(2**63) <= int(seed[1]) < 2**63:
            return VoicePrompt(normalized(self._drawn(int(seed[1]))))
        try:
            return self._string(text)
        except InvalidSpeaker as error:
            raise self._refuse(text, error) from None

    def _refuse(self, text: str, error: InvalidSpeaker) -> InvalidOption:
        shown = text if len(text) <= 40 else text[:37] + "..."
        names = "".join(f"{name}, " for name in self._named)
        why = f" ({error})" if _looks_spelled(text) else ""
        return InvalidOption(
            f"option 'voice' must be one of {names}seed:N, or a speaker string, not {shown!r}{why}"
        )

    def _drawn(self, seed: int) -> NDArray[np.float32]:
        if self._statistics is None:
            text = self._config.spk_stat or upstream.spk_stat()
            self._statistics = Statistics(text, self._config.gpt.hidden_size)
        return self._statistics.draw(seed)

    def _string(self, text: str) -> VoicePrompt:
        """A speaker string, or a voice prompt string."""
        gpt = self._config.gpt
        try:
            return VoicePrompt(normalized(decode_speaker(text, gpt.hidden_size)))
        except InvalidSpeaker as error:
            try:
                longest = gpt.max_position_embeddings // 2
                codes = decode_codes(text, gpt.num_vq, gpt.end_token, longest)
            except InvalidSpeaker:
                raise error from None
            return VoicePrompt(codes=codes)

    def _spelled(self, name: str, text: str) -> VoicePrompt:
        try:
            return self._string(text)
        except InvalidSpeaker as error:
            raise InvalidWeights(f"voice {name!r}: {error}") from None

    def _add(self, name: str, path: Path, adapters: Mapping[str, Path], encode: Encode) -> None:
        """Learn the voice of one adapter file, unless it is the text beside a recording."""
        place = PurePosixPath(name)
        stem = place.stem
        if is_recording(name):
            said = text_beside(name, adapters)
            self._named[stem] = VoicePrompt(codes=encode(path), said=said)
            self._recorded.add(stem)
        elif not any(is_recording(o) and PurePosixPath(o).with_suffix(".txt") == place
                     for o in adapters):  # fmt: skip
            self._named[stem] = self._spelled(stem, _text(name, path))


def _text(name: str, path: Path) -> str:
    """A speaker file's text.

    Raises:
        InvalidWeights: It is not text.
    """
    try:
        return path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise InvalidWeights(
            f"adapter {name!r} is neither a speaker string nor a recording "
            f"({', '.join(sorted(RECORDINGS))})"
        ) from None


def _looks_spelled(text: str) -> bool:
    """Whether someone meant this as a speaker string."""
    return len(text) > MAX_SPOKEN_STRING and all(_FIRST_HAN < c < _LAST_SPELLED for c in text)
