from ollama_tts.text import prepare
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES


def test_a_text_fed_by_character_gives_the_same_utterances():
    text = "# Plan\n\n- Read [the map](https://a.b/c?d=1. e). It is 3.14 long! 好的。再见\n"
    preparer = Preparer(CHATTTS_RULES)
    pieces = [utterance for char in text for utterance in preparer.feed(char)]
    assert pieces + preparer.finish() == prepare(text)


def test_marks_stand_in_the_text_in_order():
    [utterance] = prepare("Good evening [uv_break] everyone [laugh] please sit down [lbreak]")
    assert utterance.text == "Good evening [uv_break] everyone [laugh] please sit down [lbreak]"
    assert utterance.controls == ("uv_break", "laugh", "lbreak")
