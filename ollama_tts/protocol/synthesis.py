"""Requests of `/synthesize` and `/generate`, the two short doors."""

import msgspec

from ollama_tts.protocol.ollama import Options, Wire


class SynthesizeRequest(Wire, kw_only=True):
    """POST /synthesize."""

    text: str = ""
    model: str = ""
    options: Options = msgspec.field(default_factory=dict)


class PromptRequest(Wire, kw_only=True):
    """POST /generate, or one item of an array of them."""

    prompt: str = ""
    model: str = ""
    stream: bool = True
    options: Options = msgspec.field(default_factory=dict)
