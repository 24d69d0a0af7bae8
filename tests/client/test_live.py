"""Both clients against a real server."""

import asyncio
import io
import wave
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ollama_tts.client import Asked, AsyncClient, Backoff, Client, SpeechChunk, SpeechEnd
from ollama_tts.config import ApiKey
from ollama_tts.errors import (
    BatchFailed,
    Busy,
    InvalidModelfile,
    InvalidRequest,
    NotFound,
    OllamaTTSError,
    TooMany,
    Unauthorized,
)
from ollama_tts.protocol.ollama import ProgressResponse
from tests.support.live import LiveServer, serving, settings_for
from tests.support.tone_listener import listen_s16

TEXT = "One sentence. And then another one."
WAV_HEADER = 44


@pytest.fixture
def client(live: LiveServer) -> Iterator[Client]:
    with Client(live.url) as client:
        yield client


@pytest.fixture
async def later(live: LiveServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(live.url) as client:
        yield client


def heard(wav: bytes) -> str:
    with wave.open(io.BytesIO(wav)) as read:
        return listen_s16(read.readframes(read.getnframes()), read.getframerate())


def test_whole_and_streamed_are_the_same_sound(client: Client) -> None:
    whole = client.synthesize(TEXT, "tone")
    streamed = b"".join(client.stream(TEXT, "tone"))
    assert whole[WAV_HEADER:] == streamed[WAV_HEADER:]
    assert heard(whole).replace(" ", "") == TEXT.replace(" ", "")


async def test_the_asynchronous_client_hears_the_same(client: Client, later: AsyncClient) -> None:
    whole = await later.synthesize(TEXT, "tone", voice="tone", speed=1.5)
    streamed = b"".join([piece async for piece in later.stream(TEXT, "tone", speed=1.5)])
    assert whole[WAV_HEADER:] == streamed[WAV_HEADER:]
    assert whole == client.synthesize(TEXT, "tone", speed=1.5)


def test_the_default_model_speaks(client: Client) -> None:
    assert client.synthesize("Hello.").startswith(b"RIFF")


def test_events_have_place_text_and_figures(client: Client) -> None:
    *chunks, end = client.speak(TEXT, "tone", keep_alive="10m", system="calm")
    assert isinstance(end, SpeechEnd)
    place_s = 0.0
    for chunk in chunks:
        assert isinstance(chunk, SpeechChunk)
        assert chunk.start_s == pytest.approx(place_s, abs=1e-3)
        place_s += chunk.duration_s
    assert end.duration_s == pytest.approx(place_s, abs=1e-3)
    spoken = "".join(chunk.text for chunk in chunks if isinstance(chunk, SpeechChunk))
    assert spoken.replace(" ", "") == TEXT.replace(" ", "")
    assert (end.done_reason, end.utterances, end.voice) == ("stop", 2, "tone")
    assert end.total_ns > 0


def test_a_request_put_together_by_hand(client: Client) -> None:
    chunk, end = client.events(Asked("abc", "tone", {"audio_format": "flac"}, whole=True))
    assert isinstance(chunk, SpeechChunk)
    assert isinstance(end, SpeechEnd)
    assert chunk.data.startswith(b"fLaC")
    assert chunk.mime_type == end.mime_type == "audio/flac"


def test_a_batch_keeps_its_order(client: Client) -> None:
    texts = [f"Text {letter}." for letter in "abcdefghijklmnop"]
    assert [heard(sound) for sound in client.batch(texts, "tone", concurrency=5)] == texts


async def test_an_asynchronous_batch_names_what_failed(later: AsyncClient) -> None:
    texts = ["Good.", "\u2026", "Fine."]
    with pytest.raises(BatchFailed, match="1 of 3 texts failed: text 1: ") as raised:
        await later.batch(texts, "hibari", concurrency=2)
    assert [sound is not None for sound in raised.value.results] == [True, False, True]
    assert set(raised.value.failures) == {1}
    sounds = await later.batch(["Up.", "Down."], "tone")
    assert [heard(sound) for sound in sounds] == ["Up.", "Down."]


def test_refusals_keep_their_kind(client: Client) -> None:
    with pytest.raises(NotFound, match="model 'nobody' not found"):
        client.synthesize("Hi.", "nobody")
    with pytest.raises(InvalidRequest, match=r"'speed' must be a number from 0\.5 to 2"):
        list(client.stream("Hi.", "tone", speed=9))


async def test_leaving_a_stream_frees_its_work(live: LiveServer, later: AsyncClient) -> None:
    pieces = later.stream("A long text. " * 200, "tone", tone_rate=1)
    await anext(pieces)
    await pieces.aclose()
    await asyncio.to_thread(live.until, lambda node: node.scheduler.active == 0)


def test_keeping_models(client: Client, live: LiveServer) -> None:
    statuses: list[str] = []
    modelfile = "FROM tone\nPARAMETER speed 1.5\nPARAMETER low_vram true\n"
    client.create("mine", modelfile, on_progress=lambda step: statuses.append(step.status))
    assert "deprecated" in statuses[0]
    assert statuses[-1] == "success"
    client.copy("mine", "yours")
    assert {"mine:latest", "yours:latest", "tone:latest"} <= {m.name for m in client.list()}
    assert client.show("yours").parameters.split() == ["speed", "1.5"]
    client.synthesize("Hi.", "yours")
    assert "tone" in {m.details.family for m in client.ps()}
    client.stop("yours")
    live.until(lambda node: not [m for m in node.scheduler.loaded() if m.name.model == "yours"])
    for name in ("mine", "yours"):
        client.delete(name)
    with pytest.raises(NotFound):
        client.show("mine")
    client.pull("tone")
    with pytest.raises(OllamaTTSError, match="registr"):
        client.push("tone")
    assert client.speaks()


async def test_keeping_models_asynchronously(later: AsyncClient, tmp_path: Path) -> None:
    path = tmp_path / "Modelfile"
    path.write_text("FROM tone\nPARAMETER num_gpu 0\n")
    statuses: list[str] = []

    def note(step: ProgressResponse) -> None:
        statuses.append(step.status)

    await later.create("later", path, quantize="fp32", on_progress=note)
    assert statuses[-1] == "success"
    await later.copy("later", "evenlater")
    assert {"later:latest", "evenlater:latest"} <= {m.name for m in await later.list()}
    assert "num_gpu" in (await later.show("later")).parameters
    await later.synthesize("Hi.", "later")
    assert await later.ps()
    await later.stop("later")
    await later.delete("later")
    await later.delete("evenlater")
    await later.pull("tone", note)
    assert await later.version()
    assert await later.speaks()
    with pytest.raises(OllamaTTSError, match="registr"):
        await later.push("tone")


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_files_are_uploaded_where_they_are_missing(
    client: Client, later: AsyncClient, tmp_path: Path, asynchronous: bool
) -> None:
    data = b"\x02" + bytes(7) + b"{}" + bytes([asynchronous]) * 2_500_000
    (tmp_path / "a.safetensors").write_bytes(data)
    uploaded: list[int] = []

    def note(step: ProgressResponse) -> None:
        if step.total == len(data):
            uploaded.append(step.completed)

    async def create() -> None:
        if asynchronous:
            await later.create("x", f"FROM {tmp_path}", on_progress=note)
        else:
            client.create("x", f"FROM {tmp_path}", on_progress=note)

    for _ in range(2):  # it is no voice and is refused; its bytes are there all the same
        with pytest.raises(OllamaTTSError):
            await create()
    assert uploaded == [2**20, 2**21, len(data)]


def test_a_modelfile_that_names_nothing_is_refused_before_anything_is_sent(client: Client) -> None:
    with pytest.raises(InvalidModelfile, match=r"FROM \./nowhere: no such file or folder"):
        client.create("x", "FROM ./nowhere\n")


def test_a_full_queue_is_waited_for(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), num_parallel=1, max_queue=1)
    with serving(settings) as server:
        impatient = Backoff(retries=0)
        with Client(server.url, backoff=impatient) as client, pytest.raises(BatchFailed) as raised:
            client.batch(["A few words."] * 8, "tone", concurrency=8, tone_rate=0.2)
        assert all(isinstance(error, Busy) for error in raised.value.failures.values())
        patient = Backoff(retries=1000)
        with Client(server.url, backoff=patient, sleep=lambda _: None) as client:
            assert len(client.batch(["Words."] * 8, "tone", concurrency=8, tone_rate=0.2)) == 8


def test_a_key_opens_the_door(tmp_path: Path) -> None:
    with serving(
        replace(settings_for(tmp_path / "models"), api_keys=(ApiKey.of("secret"),))
    ) as server:
        with Client(server.url, api_key="secret") as client:
            assert client.synthesize("Hi.", "tone").startswith(b"RIFF")
        with Client(server.url, api_key="guess") as client, pytest.raises(Unauthorized):
            client.synthesize("Hi.", "tone")


def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    with (
        serving(replace(settings_for(tmp_path / "models"), rate_limit=2)) as server,
        Client(server.url, backoff=Backoff(retries=0)) as client,
    ):
        for _ in range(2):
            client.synthesize("Hi.", "tone")
        with pytest.raises(TooMany, match="OLLAMA_TTS_RATE_LIMIT") as told:
            client.synthesize("Hi.", "tone")
        assert 1 < told.value.retry_after_s <= 30
