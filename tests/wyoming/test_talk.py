"""The Wyoming door, with the library's own client, as Home Assistant uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from tests.support.tone_listener import listen_s16
from tests.wyoming.conftest import Wyoming, open_wyoming

SENTENCE = "This is one of the sentences that a home says. "


@asynccontextmanager
async def connected(door: Wyoming) -> AsyncIterator[AsyncTcpClient]:
    client = AsyncTcpClient(door.address.host, door.address.port, read_timeout=60)
    await client.connect()
    try:
        yield client
    finally:
        await client.disconnect()


async def until(client: AsyncTcpClient, last: str) -> list[Event]:
    """Events up to one of a type; the connection must not end before."""
    events: list[Event] = []
    while not events or events[-1].type != last:
        event = await client.read_event()
        assert event is not None, f"the connection ended before {last}: {events}"
        events.append(event)
    return events


def heard(events: list[Event]) -> str:
    chunks = [AudioChunk.from_event(event) for event in events if AudioChunk.is_type(event.type)]
    assert {(chunk.rate, chunk.width, chunk.channels) for chunk in chunks} == {(24_000, 2, 1)}
    return listen_s16(b"".join(chunk.audio for chunk in chunks), 24_000).replace(" ", "")


async def test_describe_lists_the_voices_of_all_models(wyoming: Wyoming) -> None:
    async with connected(wyoming) as client:
        await client.write_event(Describe().event())
        [event] = await until(client, "info")
    [program] = Info.from_event(event).tts
    assert program.installed
    assert program.supports_synthesize_streaming
    assert program.voices[0].name.startswith("tone/"), "the default model's come first"
    voices = {voice.name: voice for voice in program.voices}
    assert voices["hibari/heart"].languages == ["en"]
    assert all(voice.installed and voice.description for voice in program.voices)


async def test_a_text_is_spoken_once_from_start_to_stop(wyoming: Wyoming) -> None:
    async with connected(wyoming) as client:
        for text in ("The light is on.", "It is off."):
            await client.write_event(Synthesize(text=text).event())
            events = await until(client, "audio-stop")
            start = AudioStart.from_event(events[0])
            assert (start.rate, start.width, start.channels) == (24_000, 2, 1)
            assert {event.type for event in events[1:-1]} == {"audio-chunk"}
            assert heard(events) == text.replace(" ", "")
            end_ms = 0.0
            for event in events[1:-1]:
                chunk = AudioChunk.from_event(event)
                assert chunk.timestamp == pytest.approx(end_ms, abs=1)
                end_ms += chunk.seconds * 1000
            assert AudioStop.from_event(events[-1]).timestamp == pytest.approx(end_ms, abs=1)


async def test_a_stream_is_spoken_while_it_is_written(wyoming: Wyoming) -> None:
    async with connected(wyoming) as client:
        await client.write_event(SynthesizeStart().event())
        await client.write_event(SynthesizeChunk(text=SENTENCE * 2).event())
        first = await until(client, "audio-chunk")
        for word in ("And ", "then", " this."):
            await client.write_event(SynthesizeChunk(text=word).event())
        # Home Assistant says all of it once more, for servers without streaming
        await client.write_event(Synthesize(text=SENTENCE * 2 + "And then this.").event())
        await client.write_event(SynthesizeStop().event())
        rest = await until(client, "synthesize-stopped")
    events = [*first, *rest]
    assert heard(events) == (SENTENCE * 2 + "And then this.").replace(" ", "")
    kinds = [event.type for event in events]
    assert kinds.count("audio-start") == kinds.count("audio-stop") == 1
    assert kinds[-2:] == ["audio-stop", "synthesize-stopped"]


@pytest.mark.parametrize(
    "voice",
    [
        SynthesizeVoice(name="tone/tone"),
        SynthesizeVoice(name="TONE"),
        SynthesizeVoice(name="tone", speaker="tone"),
    ],
)
async def test_a_voice_is_chosen_by_name(tmp_path: Path, voice: SynthesizeVoice) -> None:
    with open_wyoming(tmp_path / "models") as door:
        async with connected(door) as client:
            await client.write_event(Synthesize(text="chosen", voice=voice).event())
            assert heard(await until(client, "audio-stop")) == "chosen"


async def test_the_first_voice_of_a_language_speaks(wyoming: Wyoming) -> None:
    async with connected(wyoming) as client:
        voice = SynthesizeVoice(language="en_US")
        await client.write_event(Synthesize(text="spoken", voice=voice).event())
        assert heard(await until(client, "audio-stop")) == "spoken"


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([Synthesize(text="x", voice=SynthesizeVoice(name="nobody"))], "voice 'nobody' must be"),
        ([Synthesize(text="x", voice=SynthesizeVoice(language="xx"))], "language 'xx' must be"),
        ([Synthesize(text="x", text_format="ssml")], "text_format 'ssml' must be 'text'"),
        ([Synthesize(text="")], "no text"),
        ([Synthesize(text="…")], "nothing that can be spoken"),
        ([SynthesizeStart(), SynthesizeStop()], "no text"),
        ([SynthesizeStart(), SynthesizeStart()], "synthesize-start within a stream"),
        ([SynthesizeStart(), SynthesizeChunk(text="…"), SynthesizeStop()], "nothing that can"),
    ],
)
async def test_what_cannot_be_spoken_is_an_error_and_the_end(
    wyoming: Wyoming, events: list[Synthesize], reason: str
) -> None:
    async with connected(wyoming) as client:
        for event in events:
            await client.write_event(event.event())
        [told] = await until(client, "error")
        assert reason in Error.from_event(told).text
        assert await client.read_event() is None


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not an event of the Wyoming protocol"),
        (b"\xff\xfe\n", "not an event"),
        (b'{"type": 5}\n', "not an event"),
        (b'{"type": "synthesize", "data": ' + b"[" * 9000 + b"\n", "not an event"),
        (b'{"type": "synthesize", "data": {"text": 5}}\n', "synthesize: Expected `str`"),
        (b'{"type": "synthesize", "data_length": 9999999999}\n', "data_length 9999999999"),
        (b'{"type": "synthesize", "payload_length": -1}\n', "payload_length -1"),
        (b"x" * 70_000 + b"\n", "longer than 65536 bytes"),
    ],
)
async def test_garbage_is_answered_and_takes_no_memory(
    wyoming: Wyoming, sent: bytes, reason: str
) -> None:
    reader, writer = await asyncio.open_connection(wyoming.address.host, wyoming.address.port)
    writer.write(sent)
    answer = await asyncio.wait_for(reader.read(), 30)
    assert b'"error"' in answer
    assert reason.encode() in answer
    writer.close()


async def test_ping_and_unknown_events_change_nothing(wyoming: Wyoming) -> None:
    async with connected(wyoming) as client:
        await client.write_event(Event("select-program", {"name": "ollama-tts"}))
        await client.write_event(Event("transcribe", {}))
        await client.write_event(SynthesizeStop().event())
        await client.write_event(Ping(text="here").event())
        [event] = await until(client, "pong")
        assert Pong.from_event(event).text == "here"


@pytest.mark.parametrize("streamed", [True, False])
async def test_whoever_leaves_frees_the_work(own_wyoming: Wyoming, *, streamed: bool) -> None:
    text = SENTENCE * 50
    async with connected(own_wyoming) as client:
        if streamed:
            await client.write_event(SynthesizeStart().event())
            await client.write_event(SynthesizeChunk(text=text).event())
        else:
            await client.write_event(Synthesize(text=text).event())
        await until(client, "audio-chunk")
    own_wyoming.live.until(lambda node: node.scheduler.active == 0)
    outcome = {"surface": "wyoming", "outcome": "cancelled"}
    assert own_wyoming.live.metric("ollama_tts_requests_total", **outcome) == 1


async def test_draining_lets_a_text_end_and_closes(own_wyoming: Wyoming) -> None:
    text = "Said to its end."
    async with connected(own_wyoming) as client, connected(own_wyoming) as idle:
        await idle.write_event(Ping().event())
        await until(idle, "pong")
        await client.write_event(SynthesizeStart().event())
        await client.write_event(SynthesizeChunk(text=f"{text} More words follow. And").event())
        first = await until(client, "audio-chunk")
        own_wyoming.live.run(own_wyoming.drain)
        events = [*first, *await until(client, SynthesizeStopped().event().type)]
        assert heard(events) == f"{text} More words follow. And".replace(" ", "")
        assert await client.read_event() is None
        assert await idle.read_event() is None
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(own_wyoming.address.host, own_wyoming.address.port)
