"""What a language model is asked for a request to a model with `llm`.

The Modelfile's parameters are the voice's. Of a request's options those that Ollama knows go to
the language model, which clients mean by `temperature`, `num_ctx` or `num_predict`; those that
only a voice knows go to the voice, and `seed` to both.
"""

import re
from collections.abc import Mapping

from ollama_tts import options
from ollama_tts.modelfile.convert import BOOLS, FLOATS, INTEGERS
from ollama_tts.protocol.fields import plain_text
from ollama_tts.protocol.ollama import AskedMessage, ChatRequest, GenerateRequest, SpeakingRequest
from ollama_tts.store.model import LocalModel
from ollama_tts.upstream.telling import Question

_OLLAMA = INTEGERS | FLOATS | BOOLS | options.OLLAMA_ONLY
_BOTH = frozenset({"seed"})
_SOUND = re.compile(r"[A-Za-z0-9+/\r\n]{64,}={0,2}\s*")  # no text is so long without a space


def llm_of(model: LocalModel, asked: Mapping[str, object]) -> str:
    """The language model that a request is for; empty where its own text is spoken.

    Raises:
        InvalidOption: The option `llm` is no text.
    """
    option = options.find("llm")
    assert option is not None
    value = asked.get("llm")
    chosen = option.parse(value) if value is not None else model.parameters.get("llm")
    return str(chosen or "").strip()


def voice_options(asked: Mapping[str, object]) -> dict[str, object]:
    """The options of a request that are the voice's."""
    return {
        name: value
        for name, value in asked.items()
        if name in _BOTH or (name not in _OLLAMA and options.find(name))
    }


def _llm_options(asked: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value
        for name, value in asked.items()
        if value is not None and (name in _OLLAMA or options.find(name) is None)
    }


def question(llm: str, request: SpeakingRequest, model: LocalModel) -> Question:
    """What `llm` is asked, on the route that the request itself took.

    Raises:
        InvalidRequest: A message's part is not text.
    """
    body: dict[str, object] = {"model": llm, "stream": True}
    if chosen := _llm_options(request.options):
        body["options"] = chosen
    if request.format:
        body["format"] = request.format
    if request.think is not None:
        body["think"] = request.think
    if isinstance(request, ChatRequest):
        return Question(llm, "/api/chat", body | {"messages": _messages(request, model)})
    assert isinstance(request, GenerateRequest)
    return Question(llm, "/api/generate", body | _prompt(request, model))


def _prompt(request: GenerateRequest, model: LocalModel) -> dict[str, object]:
    """The fields of /api/generate; `raw` asks for the prompt alone, as it is."""
    fields: dict[str, object] = {"prompt": request.prompt}
    system = request.system or model.system
    if request.raw:
        fields["raw"] = True
    elif system:
        fields["system"] = system
    if request.images:
        fields["images"] = request.images
    return fields


def _messages(request: ChatRequest, model: LocalModel) -> list[dict[str, object]]:
    """The model's own messages, then the request's; SYSTEM first where these have none (Ollama)."""
    own: list[dict[str, object]] = [{"role": m.role, "content": m.content} for m in model.messages]
    asked = [each for message in request.messages if (each := _message(message))]
    if model.system and request.messages[0].role.lower() != "system":
        own.insert(0, {"role": "system", "content": model.system})
    return own + asked


def _message(message: AskedMessage) -> dict[str, object] | None:
    """One message as the language model can read it; None where only sound is left of it.

    Clients send our own answers back: sound in `content`, what it says in `thinking`.
    """
    content, thinking = plain_text(message.content), message.thinking
    if message.role.lower() == "assistant" and _SOUND.fullmatch(content):
        if not thinking:
            return None
        content, thinking = thinking, ""
    fields: dict[str, object] = {"role": message.role, "content": content}
    optional = {
        "thinking": thinking,
        "images": message.images,
        "tool_calls": message.tool_calls,
        "tool_name": message.tool_name,
    }
    return fields | {name: value for name, value in optional.items() if value}
