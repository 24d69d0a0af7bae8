"""Calls that keep models: naming them, and making one from a Modelfile."""

from collections.abc import Mapping, Sequence

from ollama_tts.client.call import Call, answer
from ollama_tts.errors import Failed, UpstreamFailed
from ollama_tts.protocol.ollama import ProgressResponse, Wire


class _Line(Wire):
    """A line of pull, push or create as it is read; `error` ends one that failed."""

    status: str = ""
    digest: str = ""
    total: int = 0
    completed: int = 0
    error: str = ""


def named(method: str, path: str, model: str) -> Call:
    """A call about one model."""
    return Call.json(method, path, {"model": model})


def show(model: str, *, verbose: bool) -> Call:
    """What is known of a model."""
    return Call.json("POST", "/api/show", {"model": model, "verbose": verbose})


def transfer(verb: str, model: str, *, insecure: bool) -> Call:
    """Pull or push a model."""
    return Call.json("POST", f"/api/{verb}", {"model": model, "insecure": insecure})


def warm(model: str, prompts: Sequence[str], options: Mapping[str, object]) -> Call:
    """Have texts spoken into the server's audio cache."""
    body = {"model": model, "prompts": list(prompts), "options": dict(options)}
    return Call.json("POST", "/api/cache", body)


def forget(model: str | None) -> Call:
    """Have the server's audio cache emptied, or of one model's sounds."""
    return Call.json("DELETE", "/api/cache", {} if model is None else {"model": model})


def copy(source: str, destination: str) -> Call:
    """Give `source` a second name."""
    return Call.json("POST", "/api/copy", {"source": source, "destination": destination})


def unload(model: str) -> Call:
    """Take the model out of memory when its present requests end."""
    body = {"model": model, "prompt": "", "keep_alive": 0, "stream": False}
    return Call.json("POST", "/api/generate", body)


def progress(line: bytes) -> ProgressResponse:
    """One line of a running operation.

    Raises:
        Failed: The operation ended with this error.
    """
    read = answer(line, _Line)
    if read.error:
        raise Failed(read.error)
    return ProgressResponse(
        status=read.status, digest=read.digest, total=read.total, completed=read.completed
    )


def unfinished() -> UpstreamFailed:
    """The failure of an operation that stops without `success`."""
    return UpstreamFailed("the server stopped before it reported success")
