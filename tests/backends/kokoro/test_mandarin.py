import pytest

from ollama_tts.backends.kokoro.mandarin import phonemize, syllable

pytest.importorskip("jieba", reason="the extra [kokoro] is not installed")


@pytest.mark.parametrize(
    ("initial", "final", "phonemes"),
    [
        ("zh", "ong1", "ꭧʊ→ŋ"),
        ("sh", "i4", "ʂɨ↘"),
        ("x", "i3", "ɕi↓"),
        ("q", "üan2", "ʨʰɥɛ↗n"),
        ("", "er4", "ɚ↘"),
        ("", "o2", "ɔ↗"),
        ("b", "o2", "pwo↗"),
        ("m", "a5", "ma"),
        ("m", "", "m"),
    ],
)
def test_a_syllable_in_the_models_alphabet(initial: str, final: str, phonemes: str) -> None:
    assert syllable(initial, final) == phonemes


def test_readings_follow_the_word() -> None:
    english = str.upper
    assert phonemize("银行", english) == "i↗nxa↗ŋ"
    assert phonemize("行走", english) == "ɕi↗ŋʦou↓"


def test_latin_words_go_to_the_english_front_end() -> None:
    spoken = phonemize("会议主题是machine learning，谢谢。", lambda words: f"<{words}>")
    assert spoken == "xwei↘i↘ꭧu↓tʰi↗ ʂɨ↘ <machine learning> , ɕje↘ɕje↘."


def test_every_common_character_has_a_reading() -> None:
    for block in range(0x4E00, 0x9FA6, 64):
        for code in range(block, min(block + 64, 0x9FA6)):
            phonemize(chr(code), str)
