import pytest

from ollama_tts.text import prepare
from ollama_tts.text.languages import letter_language, main_language, unspoken
from ollama_tts.text.normalize import runs
from ollama_tts.text.rules import CHATTTS_RULES, TextRules

ENGLISH = TextRules(languages=("en",))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hello there", "en"),
        ("你好", "zh"),
        ("我用 Python", "zh"),
        ("The word 好 is one of many", "en"),
        ("請看 https://example.org/a/b/c", "zh"),
        ("こんにちは世界", "ja"),
        ("Привет", "ru"),
        ("안녕", "ko"),
        ("123 + 4", None),
        ("α + β", None),
        ("λόγος", "el"),
    ],
)
def test_main_language(text: str, language: str | None) -> None:
    assert main_language(text) == language


def test_a_letter_of_no_known_script() -> None:
    assert letter_language("ᚠ") == "und"


def test_unspoken_names_the_run_and_its_language() -> None:
    assert unspoken(prepare("Hello. 你好。"), CHATTTS_RULES) is None
    assert unspoken(prepare("Hello 你好吗", rules=ENGLISH), ENGLISH) == (
        'this voice can\'t speak "你好吗" (Chinese); it speaks English'
    )
    message = unspoken(prepare("He said Привет to me."), CHATTTS_RULES)
    assert (
        message
        == 'this voice can\'t speak "Привет" (Russian (Cyrillic)); it speaks Chinese, English'
    )
    chinese = TextRules(languages=("zh",))
    assert unspoken(prepare("Hello there.", rules=chinese), chinese) == (
        'this voice can\'t speak "Hello" (English); it speaks Chinese'
    )
    anything = TextRules(alphabet="any")
    assert unspoken(prepare("你好", rules=anything), anything) is None


def test_runs_inside_mixed_text() -> None:
    text = "他说 I have 3 apples 然后走了"
    assert [(text[a:b].strip(), code) for a, b, code in runs(text, "zh")] == [
        ("他说", "zh"),
        ("I have 3 apples", "en"),
        ("然后走了", "zh"),
    ]
    assert runs("用 Python 3 写", "zh") == [(0, 12, "zh")]
    assert runs("a 3 b", "en") == [(0, 5, "en")]


def test_a_text_without_letters_follows_the_text_before_it() -> None:
    assert [u.text for u in prepare("你好吗。\n12\n")] == ["你好吗。", "十二"]
    assert [u.text for u in prepare("12\n")] == ["twelve"]
    assert [u.text for u in prepare("12\n", language="zh")] == ["十二"]
