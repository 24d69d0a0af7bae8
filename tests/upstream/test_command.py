"""`ollama-tts run` without a server asks the language model, too."""

import io
import os
import subprocess
import sys
from pathlib import Path

import soundfile

from ollama_tts.config import Address
from ollama_tts.server.sockets import bind
from tests.support.tone_listener import listen
from tests.support.upstream import FakeOllama


def test_a_language_model_s_answer_into_a_file(behind: FakeOllama, tmp_path: Path) -> None:
    (free,) = bind(Address("127.0.0.1", 0))
    nobody = f"127.0.0.1:{free.getsockname()[1]}"
    free.close()
    done = subprocess.run(
        [sys.executable, "-m", "ollama_tts", "run", "tone", "Good day.", "--option", "llm=qwen3"],
        env={
            **os.environ,
            "OLLAMA_HOST": nobody,
            "OLLAMA_MODELS": str(tmp_path),
            "OLLAMA_UPSTREAM": behind.url,
        },
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    samples, rate = soundfile.read(io.BytesIO(done.stdout), dtype="float32")
    assert listen(samples, rate).replace(" ", "") == "Goodmorning."
    (seen,) = behind.asked("/api/generate")
    assert seen.json == {"model": "qwen3", "prompt": "Good day.", "stream": True}
