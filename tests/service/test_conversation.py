"""Conversations on a real node with the voice `tone`, which tells whose text a sound came from."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from ollama_tts.config import Settings
from ollama_tts.errors import Busy, InvalidOption, ModelNotFound, TooLarge
from ollama_tts.node import Node
from ollama_tts.service.conversation import (
    Conversation,
    ConversationEvent,
    TurnCancelled,
    TurnEvent,
    TurnFailed,
)
from ollama_tts.service.events import (
    AudioChunk,
    AudioFormat,
    SpeechDone,
    SpeechEvent,
    SpeechRequest,
    SpeechStarted,
)
from tests.support.tone_listener import listen


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with Node(Settings(models_dir=tmp_path)) as node:
        yield node


def converse(node: Node, **options: object) -> Conversation:
    ask = SpeechRequest("tone", "", {"audio_format": "pcm", "pause_ms": 0, **options})
    return Conversation(node.speech.speak, ask)


def heard(events: list[ConversationEvent], turn: int) -> str:
    data = b"".join(
        event.event.data
        for event in events
        if isinstance(event, TurnEvent)
        and event.turn == turn
        and isinstance(event.event, AudioChunk)
    )
    return listen(np.frombuffer(data, "<i2").astype(np.float32) / 32767, 24_000)


async def all_of(conversation: Conversation) -> list[ConversationEvent]:
    return [event async for event in conversation.events()]


async def test_text_by_character_is_one_turn_with_one_start_and_one_end(node: Node) -> None:
    conversation = converse(node)
    for letter in "Hello there. Bye.":
        await conversation.say(letter)
    await conversation.end()
    conversation.close()
    events = await all_of(conversation)
    kinds = [type(event.event) for event in events if isinstance(event, TurnEvent)]
    assert kinds[0] is SpeechStarted
    assert kinds[-1] is SpeechDone
    assert kinds.count(SpeechStarted) == kinds.count(SpeechDone) == 1
    assert heard(events, 0).replace(" ", "") == "Hellothere.Bye."


async def test_flush_speaks_what_has_no_end_yet(node: Node) -> None:
    conversation = converse(node)
    await conversation.say("No end yet")
    await conversation.flush()
    async for event in conversation.events():
        if isinstance(event, TurnEvent) and isinstance(event.event, AudioChunk):
            break
    conversation.cancel()


async def test_after_a_cancel_nothing_of_the_turn_follows_and_the_next_is_clean(
    node: Node,
) -> None:
    conversation = converse(node, tone_rate=1.0)
    await conversation.say("This one is cut off in the middle of its sound. ")
    await conversation.flush()
    events: list[ConversationEvent] = []
    async for event in conversation.events():
        events.append(event)
        if isinstance(event, TurnEvent) and isinstance(event.event, AudioChunk) and event.turn == 0:
            conversation.cancel()
            await conversation.say("Next.")
            await conversation.end()
            conversation.close()
    cut = next(i for i, event in enumerate(events) if isinstance(event, TurnCancelled))
    assert all(event.turn == 1 for event in events[cut + 1 :])
    assert heard(events, 1) == "Next."
    assert node.scheduler.active == 0


async def test_a_turn_that_waits_is_cancelled_too(node: Node) -> None:
    conversation = converse(node, tone_rate=1.0)
    for text in ("one.", "two."):
        await conversation.say(text)
        await conversation.end()
    conversation.close()
    conversation.cancel()
    assert await all_of(conversation) == [TurnCancelled(0), TurnCancelled(1)]


async def test_a_failed_turn_says_why_and_the_next_speaks(node: Node) -> None:
    conversation = Conversation(node.speech.speak, SpeechRequest("nobody", ""))
    await conversation.say("Hello.")
    await conversation.end()
    conversation.close()
    (event,) = await all_of(conversation)
    assert isinstance(event, TurnFailed)
    assert isinstance(event.error, ModelNotFound)

    conversation = converse(node, speed=9)
    await conversation.say("Hello.")
    conversation.close()
    (event,) = await all_of(conversation)
    assert isinstance(event, TurnFailed)
    assert isinstance(event.error, InvalidOption)


async def test_whoever_leaves_frees_the_work(node: Node) -> None:
    conversation = converse(node, tone_rate=1.0)
    await conversation.say("A long text that is spoken at its own pace. " * 20)
    events = conversation.events()
    await anext(events)
    assert node.scheduler.active == 1
    await events.aclose()
    assert node.scheduler.active == 0


async def test_a_cancel_is_heard_behind_text_that_the_voice_has_not_come_to(node: Node) -> None:
    conversation = converse(node, tone_rate=1.0)
    for _ in range(20_000):
        await conversation.say("word ")
    events = conversation.events()
    await anext(events)
    conversation.cancel()
    conversation.close()
    rest = [event async for event in events]
    assert rest[-1] == TurnCancelled(0)


async def test_a_turn_and_the_row_of_turns_are_bounded(node: Node) -> None:
    conversation = converse(node)
    await conversation.say("x" * 1_000_000)
    with pytest.raises(TooLarge, match="1000000 characters"):
        await conversation.say("x")
    conversation.cancel()
    conversation = converse(node)
    for _ in range(64):
        await conversation.say("x")
        await conversation.end()
    with pytest.raises(Busy, match="64 turns"):
        await conversation.say("x")
    conversation.cancel()


async def test_what_nobody_foresaw_is_an_error_of_its_turn() -> None:
    async def broken(request: SpeechRequest) -> AsyncGenerator[SpeechEvent, None]:
        for number in (1, 0):
            if number // number:
                continue
            yield SpeechStarted(AudioFormat("wav", "audio/wav", 24_000), request.model, "", 0)

    conversation = Conversation(broken, SpeechRequest("secret", ""))
    await conversation.say("Hello.")
    conversation.close()
    (event,) = await all_of(conversation)
    assert isinstance(event, TurnFailed)
    assert str(event.error) == "internal error"


async def test_cancelled_turns_stand_in_nobodys_way(node: Node) -> None:
    conversation = converse(node)
    for _ in range(200):
        await conversation.say("x")
        conversation.cancel()
    await conversation.say("Heard.")
    await conversation.end()
    conversation.close()
    events = await all_of(conversation)
    assert heard(events, 200) == "Heard."
