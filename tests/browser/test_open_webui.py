"""Open WebUI, as it is, in front of this server: it lists, chats and reads aloud.

`OPEN_WEBUI` names its command (`pip install open-webui` into an environment of its own; it was
tried with 0.12.4). An Ollama that answers by script stands behind this server.
"""

import base64
import io
import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.support.chromium import PATIENCE_S, in_every_page, until
from tests.support.live import LiveServer, serving, settings_for
from tests.support.tone_listener import listen
from tests.support.upstream import FakeOllama

COMMAND = os.environ.get("OPEN_WEBUI", "")
START_S = 600
ANSWER = "Good morning to you."
LISTENING = Path(__file__).parents[1] / "support" / "aloud.js"

pytestmark = [
    pytest.mark.skipif(not COMMAND, reason="OPEN_WEBUI does not name the command open-webui"),
    pytest.mark.timeout(2 * START_S),
]


@pytest.fixture
def front(tmp_path: Path) -> Iterator[LiveServer]:
    """Our server, with a language model behind it."""
    with FakeOllama({"qwen3:latest": ["Good", " morning", " to", " you", "."]}).up() as behind:
        settings = replace(settings_for(tmp_path / "models"), upstream=behind.url)
        with serving(settings) as server:
            yield server


def healthy(url: str) -> bool:
    """Whether it has come up."""
    try:
        return httpx.get(f"{url}/health", timeout=PATIENCE_S).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def web_url(chrome: Chrome, front: LiveServer, tmp_path: Path) -> Iterator[str]:
    """Open WebUI in front of it, with nothing but its own settings for Ollama and for speech."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "DATA_DIR": str(tmp_path), "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "of this test",
        "OFFLINE_MODE": "True", "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
        "ENABLE_OPENAI_API": "False", "OLLAMA_BASE_URL": front.url,
        "AUDIO_TTS_ENGINE": "openai", "AUDIO_TTS_OPENAI_API_BASE_URL": f"{front.url}/v1",
        "AUDIO_TTS_OPENAI_API_KEY": "-", "AUDIO_TTS_MODEL": "tone", "AUDIO_TTS_VOICE": "tone",
    }  # fmt: skip
    command = [COMMAND, "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (
        (tmp_path / "open-webui.log").open("wb") as log,
        subprocess.Popen(
            command, env={**os.environ, **settings}, cwd=tmp_path, stdout=log, stderr=log
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            until(chrome, lambda: healthy(url), "Open WebUI", START_S)
            yield url
        finally:
            process.terminate()


def shown(chrome: Chrome, css: str) -> WebElement:
    """The first such element that can be seen."""

    def look() -> WebElement | None:
        found = chrome.find_elements(By.CSS_SELECTOR, css)
        return next((element for element in found if element.is_displayed()), None)

    found = until(chrome, look, css)
    assert found is not None
    return found


def greeted(chrome: Chrome, url: str) -> None:
    """Open it, and send its release notes away."""
    chrome.get(url)
    okay = '//button[normalize-space()="Okay, Let\'s Go!"]'
    until(chrome, lambda: chrome.find_elements(By.XPATH, okay), "its greeting")[0].click()
    until(chrome, lambda: not chrome.find_elements(By.XPATH, okay), "the greeting's end")


def said_in(file: bytes) -> str:
    """What the voice `tone` says in an MP3; nothing in any other file."""
    with av.open(io.BytesIO(file), "r") as container:
        [stream] = container.streams.audio
        if container.format.name != "mp3":
            return ""
        frames = [frame.to_ndarray()[0] for frame in container.decode(stream)]
        return listen(np.concatenate(frames), int(stream.rate)).replace(" ", "")


def test_it_lists_our_models_chats_and_reads_aloud(
    chrome: Chrome, front: LiveServer, web_url: str
) -> None:
    with in_every_page(chrome, LISTENING.read_text("utf-8")):
        greeted(chrome, web_url)
        shown(chrome, "#model-selector-model-button").click()
        for name in ("tone:latest", "hibari:latest"):
            shown(chrome, f"[role=option][data-value='{name}']")
        shown(chrome, "[role=option][data-value='qwen3:latest']").click()
        shown(chrome, "#chat-input").click()
        ActionChains(chrome).send_keys("Hello there", Keys.ENTER).perform()
        until(chrome, lambda: ANSWER in shown(chrome, "body").text, "an answer")
        shown(chrome, "[aria-label='Read Aloud']").click()

        def heard() -> list[str]:
            """What was played to its end, so far; it also plays silence, to be let make sound."""
            told: list[dict[str, Any]] = chrome.execute_script("return window.aloud")
            files = [each["file"] for each in told if each["ended"] and each["file"]]
            return [text for file in files if (text := said_in(base64.b64decode(file)))]

        assert until(chrome, heard, "the end of its reading") == [ANSWER.replace(" ", "")]
    assert front.metric("ollama_tts_requests_total", surface="openai", outcome="ok") == 1
    chrome.get("about:blank")
