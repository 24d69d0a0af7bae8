"""Prompts as upstream's tokenizer and grammar make them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ollama_tts.backends.chattts.prompt import Prompter, RefineLevels, VoicePrompt
from ollama_tts.backends.chattts.reference import Chat, quiet
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.errors import InvalidWeights, UnspeakableText
from ollama_tts.options import SpeechOptions
from tests.backends.chattts.conftest import prompter, sentences, voice

TEXTS = [
    *(s.text.replace("?", "") for s in sentences()),
    "how are [uv_break] you [laugh] today",
    "[laugh][lbreak]hello[oral_3]",
]


@pytest.mark.filterwarnings("ignore")
def test_prompts_are_upstreams(mini: Checkpoint, mini_chat: Chat) -> None:
    ours = prompter(mini)
    someone = VoicePrompt(np.ones(256, np.float32))
    for text in TEXTS:
        language = "zh" if text[0] >= "\u4e00" else "en"
        normal = mini_chat.normalizer(text, True, True, None)
        for who, name in ((someone, "x"), (VoicePrompt(), None)):
            with quiet():
                grammar = mini_chat.speaker.decorate_code_prompts([normal], "[speed_5]", None, name)
                ids, _, mask = mini_chat.tokenizer.encode(grammar, 4)
            made = ours.speech(text, language, who)
            np.testing.assert_array_equal(made.ids, ids[0].numpy())
            np.testing.assert_array_equal(made.is_text, mask[0].numpy())
        refining = mini_chat.speaker.decorate_text_prompts([normal], "[oral_2][laugh_0][break_6]")
        ids, _, _ = mini_chat.tokenizer.encode(refining, 4)
        made = ours.refine(text, language, RefineLevels(2, 0, 6))
        np.testing.assert_array_equal(made.ids, ids[0].numpy())


def test_the_speaker_is_written_over_its_token(mini: Checkpoint) -> None:
    who = voice(mini, "anna")
    made = prompter(mini).speech("hello", "en", who)
    assert made.injected_at.tolist() == [1]
    assert who.vector is not None
    np.testing.assert_array_equal(made.injected[0], who.vector)
    assert len(prompter(mini).speech("hello", "en", VoicePrompt()).injected_at) == 0


def test_a_recording_follows_the_text(mini: Checkpoint) -> None:
    codes = np.arange(8, dtype=np.int32).reshape(4, 2)
    made = prompter(mini).speech("hello", "en", VoicePrompt(codes=codes, said="good"))
    assert made.is_text.tolist() == [True] * (len(made) - 2) + [False] * 2
    np.testing.assert_array_equal(made.ids[-2:], codes.T)


CONTROL = ["[Stts]", "[Ptts]", "[spk_emb]", "[empty_spk]", "[Sbreak]", "[Ebreak]", "[PAD]", "[UNK]"]


@given(st.lists(st.one_of(st.sampled_from(CONTROL), st.sampled_from("ab[]_ 你.!?")), max_size=12))
def test_text_cannot_change_the_grammar(parts: list[str]) -> None:
    """Whatever is written, a prompt has one speaker, one beginning and one end."""
    ours = CACHED[0]
    text = "".join(parts)
    ids = ours.speech(text, "en", VoicePrompt(np.ones(256, np.float32))).ids[:, 0].tolist()
    plain = ours.speech("a", "en", VoicePrompt(np.ones(256, np.float32))).ids[:, 0].tolist()
    start, speaker, end = plain[0], plain[1], plain[-1]
    assert (ids.count(start), ids.count(speaker), ids.count(end)) == (1, 1, 1)
    assert (ids[0], ids[1], ids[-1]) == (start, speaker, end)


CACHED: list[Prompter] = []


@pytest.fixture(autouse=True, scope="module")
def cached(mini: Checkpoint) -> None:
    CACHED[:] = [prompter(mini)]


def test_nothing_to_say(mini: Checkpoint) -> None:
    for text in ("", "…", "?!", "123", "😀"):
        with pytest.raises(UnspeakableText, match="nothing to say"):
            prompter(mini).check(text, "en")
    prompter(mini).check("[laugh]", "en")
    prompter(mini).check("好", "zh")


@pytest.mark.parametrize(
    ("options", "prompt"),
    [
        (SpeechOptions(), None),
        (SpeechOptions(refine_text=True), ""),
        (SpeechOptions(oral=0), "[oral_0]"),
        (SpeechOptions(oral=2, laugh=1, break_=7), "[oral_2][laugh_1][break_7]"),
    ],
)
def test_when_text_is_refined(options: SpeechOptions, prompt: str | None) -> None:
    levels = RefineLevels.asked(options)
    assert (levels.prompt if levels else None) == prompt


def test_a_tokenizer_without_controls() -> None:
    with pytest.raises(InvalidWeights, match="damaged"):
        Prompter("{}", 4)
    words = (
        '{"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}'
    )
    with pytest.raises(InvalidWeights, match=r"lacks the tokens \[Stts\]"):
        Prompter(words, 4)
