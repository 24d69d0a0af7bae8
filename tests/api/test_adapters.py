"""ADAPTER over the wire, with ollama-python: voices of recordings, and LoRAs on one loaded base."""

import asyncio
import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import ollama
import pytest
import soundfile
from safetensors.torch import load_file, save_file

from ollama_tts.backends.chattts.native import library
from tests.support.checkpoints import TINY, write
from tests.support.live import LiveServer, serving, settings_for
from tests.support.lora import write_lora

FORMATS = ("wav", "flac", "mp3", "ogg")


@dataclass(frozen=True)
class Studio:
    """A server with a small model, and a client of it."""

    live: LiveServer
    client: ollama.Client
    http: httpx.Client

    def create(self, name: str, adapters: Mapping[str, Path], base: str = "base") -> None:
        sent = {name: self.client.create_blob(path) for name, path in adapters.items()}
        self.client.create(name, from_=base, adapters=sent)

    def speak(self, model: str, **options: object) -> tuple[bytes, dict[str, Any]]:
        """The sound of a fixed seed, and what the answer says of it."""
        answer = self.http.post("/api/generate", json=asked(model, **options))
        assert answer.status_code == 200, answer.text
        body = answer.json()
        return base64.b64decode(body["response"]), body["audio"]

    def ps(self) -> dict[str, dict[str, Any]]:
        rows = self.http.get("/api/ps").json()["models"]
        return {row["name"].removesuffix(":latest"): row for row in rows}


def asked(model: str, **options: object) -> dict[str, object]:
    chosen = {"seed": 3, "num_predict": 12, "cache": False, "audio_format": "pcm", **options}
    return {"model": model, "prompt": "Hello hello.", "stream": False, "options": chosen}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    root = write(tmp_path_factory.mktemp("tiny"), TINY)
    settings = settings_for(tmp_path_factory.mktemp("models"))
    with serving(settings) as live, ollama.Client(live.url) as client:
        paths = [p for p in root.rglob("*") if p.suffix in {".json", ".safetensors"}]
        files = {path.relative_to(root).as_posix(): client.create_blob(path) for path in paths}
        client.create("packed", files=files, parameters={"num_thread": 1})
        client.create("base", from_="packed", parameters={"backend": "torch"})
        with httpx.Client(base_url=live.url, timeout=120) as http:
            yield Studio(live, client, http)


def recording(folder: Path, kind: str, seconds: float = 3.5) -> Path:
    """A voice-like sound of its own, in one of the formats."""
    time_s = np.arange(int(seconds * 24_000)) / 24_000
    pitch_hz = 110 + 30 * FORMATS.index(kind) + 10 * np.sin(3 * time_s)
    sound = 0.3 * np.sin(2 * np.pi * np.cumsum(pitch_hz) / 24_000)
    soundfile.write(folder / f"eve.{kind}", sound, 24_000)
    return folder / f"eve.{kind}"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.filterwarnings("ignore")
def test_a_recording_with_its_text_is_the_models_voice(
    studio: Studio, tmp_path: Path, kind: str
) -> None:
    text = tmp_path / "eve.txt"
    text.write_text("good morning.")
    studio.create(f"eve-{kind}", {f"eve.{kind}": recording(tmp_path, kind), "eve.txt": text})
    sound, told = studio.speak(f"eve-{kind}")
    assert told["voice"] == "eve"
    assert studio.speak(f"eve-{kind}")[0] == sound
    assert sound != studio.speak(f"eve-{kind}", voice="seed:2")[0]
    studio.create(f"mute-{kind}", {f"eve.{kind}": tmp_path / f"eve.{kind}"})
    assert sound != studio.speak(f"mute-{kind}")[0]


def test_recordings_that_are_none_are_refused_by_name(studio: Studio, tmp_path: Path) -> None:
    short, noise = recording(tmp_path, "wav", 2.9), tmp_path / "noise.mp3"
    noise.write_bytes(b"no sound at all")
    text = tmp_path / "eve.txt"
    text.write_bytes(b"\xff\xfe\xfa")
    for adapters, words in (
        ({"eve.wav": short}, r"eve\.wav must last 3 to 30 s, not 2\.9 s"),
        ({"noise.mp3": noise}, r"noise\.mp3 cannot be read as sound \(\.flac, \.mp3"),
        ({"eve.ogg": recording(tmp_path, "ogg"), "eve.txt": text}, r"eve\.txt: .* must be UTF-8"),
    ):
        with pytest.raises(ollama.ResponseError, match=words) as refused:
            studio.create("refused", adapters)
        assert refused.value.status_code == 400
    assert "refused:latest" not in {model.model for model in studio.client.list().models}


def test_voices_with_a_lora_share_one_loaded_base(studio: Studio, tmp_path: Path) -> None:
    for number, name in enumerate(("red", "blue")):
        studio.create(name, write_lora(tmp_path / name, TINY, seed=number))
    names = ("base", "red", "blue")
    alone = {name: studio.speak(name)[0] for name in names}
    assert len(set(alone.values())) == 3
    together = asyncio.run(at_once(studio.live.url, [*names, *names]))
    assert together == [alone[name] for name in (*names, *names)]
    rows = studio.ps()
    shared = {name for name in names if rows[name].get("shares")}
    assert len(shared) >= 2
    (host,) = {rows[name]["shares"] for name in shared}
    host = rows[host.removesuffix(":latest")]
    assert all(0 <= rows[name]["size"] < host["size"] / 2 for name in shared)
    assert {rows[name]["size"] > 0 for name in shared & {"red", "blue"}} == {True}
    digests = {m.model: m.digest for m in studio.client.list().models}
    assert all(rows[name]["digest"] == digests[f"{name}:latest"] for name in names)


async def at_once(url: str, models: list[str]) -> list[bytes]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        answers = await asyncio.gather(
            *(client.post("/api/generate", json=asked(model)) for model in models)
        )
    return [base64.b64decode(answer.json()["response"]) for answer in answers]


@pytest.mark.skipif(library.find() is None, reason="the native library is not built")
def test_where_weights_are_packed_a_lora_is_merged(studio: Studio, tmp_path: Path) -> None:
    studio.create("merged", write_lora(tmp_path / "one", TINY, seed=0), base="packed")
    plain, tuned = studio.speak("packed")[0], studio.speak("merged")[0]
    assert plain != tuned
    rows = studio.ps()
    if not rows["packed"].get("shares") and "merged" in rows:
        assert not rows["merged"].get("shares")
        assert rows["merged"]["size"] == pytest.approx(rows["packed"]["size"], rel=0.2)


def test_a_lora_of_another_model_is_refused_before_anything_is_made(
    studio: Studio, tmp_path: Path
) -> None:
    adapters = write_lora(tmp_path, TINY)
    tensors = load_file(adapters["adapter_model.safetensors"])
    cut = {name: tensor[:, :-1].contiguous() for name, tensor in tensors.items()}
    save_file(cut, adapters["adapter_model.safetensors"])
    with pytest.raises(ollama.ResponseError, match=r"lora_A of .* is \[4, 127\], not \[4, 128\]"):
        studio.create("refused", adapters)
    studio.create("good", write_lora(tmp_path / "good", TINY))
    with pytest.raises(ollama.ResponseError, match="backend reference speaks without LoRA"):
        studio.client.generate("good", "Hi.", options={"backend": "reference"})


def test_a_text_that_is_no_speaker_string_is_refused_before_a_model_is_made(
    studio: Studio, tmp_path: Path
) -> None:
    text = tmp_path / "lines.txt"
    text.write_text("These are the lines of a play.", encoding="utf-8")
    with pytest.raises(ollama.ResponseError, match="'lines': this is not a speaker string") as no:
        studio.create("lines", {"lines.txt": text})
    assert no.value.status_code == 400
    assert "lines:latest" not in {model.model for model in studio.client.list().models}
