"""`/api/embed` and `/api/embeddings`: voices make none, and say so after Ollama's own checks."""

from starlette.requests import Request
from starlette.responses import Response

from ollama_tts.errors import InvalidName, InvalidRequest, ModelNotFound
from ollama_tts.protocol.ollama import EmbeddingsRequest, EmbedRequest
from ollama_tts.server.http.asking import node_of
from ollama_tts.server.http.body import read_struct


async def embed(request: Request) -> Response:
    """POST /api/embed.

    Raises:
        InvalidRequest: Always, where the model is there.
        ModelNotFound: It is not.
    """
    body = await read_struct(request, EmbedRequest)
    texts = body.input if isinstance(body.input, list) else [body.input]
    if any(not isinstance(text, str) for text in texts if text is not None):
        raise InvalidRequest("invalid input type")
    if not body.model:
        raise ModelNotFound("model '' not found")
    raise _refused(request, body.model)


async def embeddings(request: Request) -> Response:
    """POST /api/embeddings.

    Raises:
        InvalidRequest: Always, where the model is there.
        ModelNotFound: It is not.
    """
    body = await read_struct(request, EmbeddingsRequest)
    if not body.model:
        raise InvalidRequest("model is required")
    raise _refused(request, body.model)


def _refused(request: Request, name: str) -> Exception:
    node = node_of(request)
    try:
        node.models.resolve(name)
    except InvalidName as error:
        return error
    except ModelNotFound:
        return ModelNotFound(f'model "{name}" not found, try pulling it first')
    return InvalidRequest(f'"{name}" does not support embeddings')
