import pytest

from ollama_tts.text.account import Account
from ollama_tts.text.mapped import MappedText
from ollama_tts.text.markdown import strip_markdown


def read(text: str) -> str:
    return strip_markdown(MappedText.of(text), Account()).text.strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Head #", "Head"),
        ("> ## Quoted", "Quoted"),
        ("- [x] Done", "Done"),
        ("* item", "item"),
        ("**bold** *soft* __bold__ _soft_ ~~gone~~", "bold soft bold soft gone"),
        ("***both***", "both"),
        ("a `code` b ``more`` c", "a code b more c"),
        ("snake_case and 2*3", "snake_case and 2*3"),
        ("[text](http://a.b/c_(d))", "text"),
        ("![a cat](cat.png)", "a cat"),
        ("x[](http://a.b)y", "xy"),
        ("[text][ref] and note[^1]", "[text] and note"),
        ("<https://a.b>", "https://a.b"),
        ("a<br>b <b>c</b> <!-- d -->e", "a b c e"),
        ("a < b > c", "a < b > c"),
        ("&lt;tag&gt; &amp; &#39;", "<tag> & '"),
        ("| a | b |", "a ,  b"),
        ("|---|:-:|", ""),
        ("---", ""),
        ("=====", ""),
        (r"\*plain\*", "plain"),
        ("5 < 6", "5 < 6"),
        ("[not a link] (x)", "[not a link] (x)"),
    ],
)
def test_marks_go_and_words_stay(text: str, words: str) -> None:
    assert read(text) == words
