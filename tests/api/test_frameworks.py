"""Unmodified frameworks that speak to an Ollama or an OpenAI: llama-index and litellm.

They are large, so the extra `frameworks` brings them and nothing else does.
"""

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import openai
import pytest

from tests.support.live import LiveServer
from tests.support.tone_listener import listen_s16

TEXT = "One is first. Two is next."
SAID = TEXT.replace(" ", "")
WHY = "pip install 'ollama-tts[frameworks]' brings it"

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs, of deprecated things and of sockets


def heard(text: str) -> str:
    return listen_s16(base64.b64decode(text)[44:], 24_000).replace(" ", "")


@pytest.fixture
def litellm() -> ModuleType:
    module: ModuleType = pytest.importorskip("litellm", reason=WHY)
    return module


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
def test_litellm_completes(provider: str, litellm: ModuleType, live: LiveServer) -> None:
    messages = [{"role": "user", "content": TEXT}]
    asked = {"model": f"{provider}/tone", "messages": messages, "api_base": live.url}
    if provider == "ollama_chat":  # the other one puts the conversation's roles into the prompt
        assert heard(litellm.completion(**asked).choices[0].message.content) == SAID
    parts = litellm.completion(**asked, stream=True)
    text = "".join(part.choices[0].delta.content or "" for part in parts)
    assert SAID in heard(text)


def test_litellm_speaks(litellm: ModuleType, live: LiveServer, tmp_path: Path) -> None:
    answer = litellm.speech(
        model="openai/tone", voice="alloy", input=TEXT, response_format="pcm",
        api_base=f"{live.url}/v1", api_key="none",
    )  # fmt: skip
    assert listen_s16(answer.read(), 24_000).replace(" ", "") == SAID
    with pytest.raises(openai.NotFoundError, match="nobody"):
        litellm.speech(
            model="openai/nobody", voice="alloy", input=TEXT,
            api_base=f"{live.url}/v1", api_key="none", max_retries=0,
        )  # fmt: skip


@pytest.fixture
def llama(live: LiveServer) -> Iterator[object]:
    module = pytest.importorskip("llama_index.llms.ollama", reason=WHY)
    made = module.Ollama(model="tone", base_url=live.url, request_timeout=60)
    with closing(made.client._client):
        yield made


def test_llama_index_completes(llama: object) -> None:
    complete, stream = (getattr(llama, name) for name in ("complete", "stream_complete"))
    assert heard(complete(TEXT).text) == SAID
    assert heard("".join(part.delta or "" for part in stream(TEXT))) == SAID


def test_llama_index_chats(llama: object) -> None:
    types = pytest.importorskip("llama_index.core.llms", reason=WHY)
    messages = [types.ChatMessage(role="user", content=TEXT)]
    chat, stream = (getattr(llama, name) for name in ("chat", "stream_chat"))
    assert heard(chat(messages).message.content) == SAID
    assert heard("".join(part.delta or "" for part in stream(messages))) == SAID
