"""Unmodified clients: ollama-python, ollama-js, langchain-ollama, openai (pc-046, 047, 049)."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ollama
import openai
import pytest
from langchain_ollama import ChatOllama, OllamaLLM

from tests.support.live import LiveServer
from tests.support.tone_listener import listen_s16

TEXT = "One is first. Two is next."
SAID = TEXT.replace(" ", "")
MINI = Path(__file__).parent.parent / "data/chattts-mini"


def heard(text: str | None) -> str:
    assert text is not None
    return listen_s16(base64.b64decode(text)[44:], 24_000).replace(" ", "")


def joined(parts: list[ollama.GenerateResponse]) -> str:
    return "".join(part.response or "" for part in parts)


@pytest.fixture
def python(live: LiveServer) -> Iterator[ollama.Client]:
    with ollama.Client(host=live.url) as client:
        yield client


def test_ollama_python_generates(python: ollama.Client) -> None:
    whole = python.generate("tone", TEXT)
    assert heard(whole.response) == SAID
    assert whole.done_reason == "stop"
    assert whole.eval_count
    parts = list(python.generate("tone", TEXT, stream=True))
    assert heard(joined(parts)) == SAID
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]


def test_ollama_python_chats(python: ollama.Client) -> None:
    messages = [{"role": "user", "content": TEXT}]
    assert heard(python.chat("tone", messages).message.content or "") == SAID
    parts = list(python.chat("tone", messages, stream=True))
    assert heard("".join(part.message.content or "" for part in parts)) == SAID


def test_ollama_python_sends_options_and_keep_alive(python: ollama.Client) -> None:
    whole = python.generate("tone", TEXT, options={"audio_format": "flac"}, keep_alive="5m")
    assert base64.b64decode(whole.response or "").startswith(b"fLaC")
    [running] = python.ps().models
    assert (running.name, running.model) == ("tone:latest", "tone:latest")
    assert python.generate("tone", keep_alive=0).done_reason == "unload"
    assert python.ps().models == []


def test_ollama_python_keeps_models(python: ollama.Client) -> None:
    shown = python.show("tone")
    assert shown.modelinfo
    assert shown.details
    python.create("mine", from_="tone", parameters={"speed": 1.5}, system="calm")
    assert "speed" in (python.show("mine").parameters or "")
    python.copy("mine", "yours")
    names = {model.model for model in python.list().models}
    assert {"mine:latest", "yours:latest", "tone:latest"} <= names
    python.delete("mine")
    python.delete("yours")
    assert [step.status for step in python.pull("tone", stream=True)][-1] == "success"
    assert python.pull("tone").status == "success"
    assert [step.status for step in python.create("mine", from_="tone", stream=True)][
        -1
    ] == "success"


def test_ollama_python_uploads_blobs(python: ollama.Client, tmp_path: Path) -> None:
    file = tmp_path / "voice.json"
    file.write_bytes(b"hello")
    assert python.create_blob(file).startswith("sha256:2cf24dba")
    assert python.create_blob(file).startswith("sha256:2cf24dba")


def test_ollama_python_makes_and_quantizes_models(python: ollama.Client) -> None:
    files = {
        path.relative_to(MINI).as_posix(): python.create_blob(path)
        for path in MINI.rglob("*.*")
        if path.suffix in {".json", ".safetensors"}
    }
    assert python.create("py", files=files, license="mine").status == "success"
    steps = list(python.create("py-q", from_="py", quantize="q8_0", stream=True))
    assert (steps[0].status, steps[-1].status) == ("converting model", "success")
    quantizing = [step for step in steps if step.status == "quantizing F16 model to Q8_0"]
    assert quantizing[-1].completed == quantizing[-1].total
    sizes = {model.model: model.size or 0 for model in python.list().models}
    assert sizes["py-q:latest"] < 0.65 * sizes["py:latest"]
    shown = python.show("py-q")
    assert shown.details
    assert shown.details.quantization_level == "Q8_0"
    assert (shown.modelinfo or {})["chattts.block_count"] == 5
    assert shown.license == "mine"
    with pytest.raises(ollama.ResponseError, match="only supported for F16, BF16 and F32"):
        python.create("py-x", from_="py-q", quantize="q4_0")
    sound = python.generate("py-q", "Good morning, how are you today?", options={"seed": 1})
    assert len(base64.b64decode(sound.response or "")) > 20_000
    for name in ("py", "py-q"):
        python.delete(name)


def test_ollama_python_reads_errors(python: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError) as caught:
        python.generate("nope", TEXT)
    assert (caught.value.status_code, caught.value.error) == (404, "model 'nope' not found")
    with pytest.raises(ollama.ResponseError) as caught:
        list(python.pull("nobody/nothing", stream=True))
    assert "pull model manifest" in caught.value.error
    with pytest.raises(ollama.ResponseError) as caught:
        python.embed("tone", "x")
    assert "does not support embeddings" in caught.value.error


async def test_ollama_python_asynchronously(live: LiveServer) -> None:
    async with ollama.AsyncClient(host=live.url) as client:
        assert heard((await client.generate("tone", TEXT)).response) == SAID
        parts = [part async for part in await client.generate("tone", TEXT, stream=True)]
        assert heard(joined(parts)) == SAID
        assert (await client.list()).models
        assert (await client.show("tone")).modelinfo is not None


def test_ollama_python_reads_a_minute_of_sound(python: ollama.Client) -> None:
    parts = list(python.generate("tone", "All is well here. " * 100, stream=True))
    assert parts[-1].done
    assert len(base64.b64decode(joined(parts))) > 60 * 48_000


def test_ollama_js(js_folder: Path, live: LiveServer) -> None:
    done = subprocess.run(
        ["node", "ollama_js.mjs", live.url, TEXT],
        cwd=js_folder, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    for way in ("generate", "generate_stream", "chat", "chat_stream"):
        assert heard(seen[way]) == SAID
    assert seen["audio"]["mime_type"] == "audio/wav"
    assert seen["pull"][-1] == seen["create"][-1] == "success"
    assert "tone:latest" in seen["list"]
    assert seen["model_info"]
    assert seen["ps"] == ["tone:latest"]
    assert seen["error"] == "model 'nope' not found"
    assert "pull model manifest" in seen["stream_error"]


@contextmanager
def closed_after(model: OllamaLLM | ChatOllama) -> Iterator[None]:
    """Close the connections that LangChain keeps and never closes."""
    yield
    assert model._client is not None
    model._client.close()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("streaming", [True, False])
def test_langchain_llm(streaming: bool, live: LiveServer) -> None:
    llm = OllamaLLM(model="tone", base_url=live.url, validate_model_on_init=True)
    with closed_after(llm):
        text = "".join(llm.stream(TEXT)) if streaming else llm.invoke(TEXT)
    assert heard(text) == SAID


def test_langchain_chat(live: LiveServer) -> None:
    chat = ChatOllama(model="tone", base_url=live.url, keep_alive="5m")
    with closed_after(chat):
        assert heard(str(chat.invoke(TEXT).content)) == SAID
        assert heard("".join(str(part.content) for part in chat.stream(TEXT))) == SAID


@pytest.fixture
def openai_client(live: LiveServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_openai_lists_models(openai_client: openai.OpenAI) -> None:
    assert "tone:latest" in [model.id for model in openai_client.models.list()]
    assert openai_client.models.retrieve("tone").id == "tone"


def test_openai_speaks(openai_client: openai.OpenAI, tmp_path: Path) -> None:
    speech = openai_client.audio.speech.create(
        model="tone", voice="alloy", input=TEXT, response_format="pcm"
    )
    assert listen_s16(speech.read(), 24_000).replace(" ", "") == SAID
    file = tmp_path / "speech.mp3"
    with openai_client.audio.speech.with_streaming_response.create(
        model="tone", voice="alloy", input=TEXT, speed=1.5
    ) as streamed:
        streamed.stream_to_file(file)
    assert file.read_bytes()[:1] == b"\xff"


def test_openai_reads_errors(openai_client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as bad:
        openai_client.audio.speech.create(model="tone", voice="nobody", input=TEXT)
    assert "nobody" in bad.value.message
    with pytest.raises(openai.NotFoundError) as missing:
        openai_client.audio.speech.create(model="nope", voice="alloy", input=TEXT)
    assert missing.value.code == "model_not_found"
