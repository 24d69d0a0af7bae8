from collections.abc import AsyncIterator

import pytest

from ollama_tts.errors import TooLarge
from ollama_tts.service.events import Flush
from ollama_tts.service.script import Script
from ollama_tts.text.account import PreparedUtterance
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import TextRules


async def parts(*given: str | Flush) -> AsyncIterator[str | Flush]:
    for part in given:
        yield part


async def said(
    text: str | AsyncIterator[str | Flush], around: tuple[str, str] = ("", ""), most: int = 10**6
) -> list[PreparedUtterance]:
    script = Script(lambda: Preparer(TextRules()), text, around, most)
    return [prepared async for prepared in script.utterances_in_order()]


async def test_whole_and_in_parts_are_the_same() -> None:
    text = "The first sentence is here. And here is the second one, which is longer."
    whole = await said(text)
    assert [prepared.text for prepared in whole] == [
        prepared.text for prepared in await said(parts(*text))
    ]
    assert len(whole) == 2


async def test_what_stands_around_is_spoken_in_place() -> None:
    spoken = await said("in the middle", ("This is ", " of it all."))
    assert " ".join(prepared.text for prepared in spoken) == "This is in the middle of it all."


async def test_a_flush_ends_the_sentence_and_keeps_the_places() -> None:
    spoken = await said(parts("Wait a moment", Flush.NOW, "please, my friend", Flush.NOW))
    assert [prepared.source.strip() for prepared in spoken] == [
        "Wait a moment",
        "please, my friend",
    ]
    assert (spoken[1].start, spoken[1].end) == (13, 30)


@pytest.mark.parametrize("text", ["x" * 11, parts("x" * 6, "x" * 5)])
async def test_too_much_text_is_refused(text: str | AsyncIterator[str | Flush]) -> None:
    with pytest.raises(TooLarge, match="10 characters"):
        await said(text, most=10)


async def test_a_long_text_gives_its_first_sentence_before_it_was_read_through() -> None:
    text = "A sentence like any other one. " * 5000
    script = Script(lambda: Preparer(TextRules()), text, ("", ""), 10**6)
    utterances = script.utterances_in_order()
    first = await anext(utterances)
    assert first.start == 0
    assert script._taken_chars < 5000
