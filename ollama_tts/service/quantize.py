"""Weights written anew in another precision, on the way into the store."""

from collections.abc import AsyncGenerator, Iterator

from ollama_tts.backends.base import Conversion
from ollama_tts.service.events import Progress
from ollama_tts.store.blobs import BlobWriter, settled

STEP_BYTES = 16 * 1024 * 1024
# Ollama's own: what is being made has no digest yet.
NO_DIGEST = "0" * 19


async def written(conversion: Conversion, writer: BlobWriter) -> AsyncGenerator[Progress]:
    """Write all of a conversion; a line for every 16 MiB. Leaving early ends the work soon.

    Raises:
        InvalidWeights: A tensor holds what its new type cannot.
        Failed: The model cannot be read any more, or the store not written.
    """
    status = f"quantizing {conversion.before} model to {conversion.after}"
    chunks = conversion.chunks()
    total = conversion.size_bytes
    yield Progress(status, NO_DIGEST, total, 0)
    while writer.size_bytes < total:
        await settled(lambda: _take(chunks, writer))
        yield Progress(status, NO_DIGEST, total, writer.size_bytes)


def _take(chunks: Iterator[bytes], writer: BlobWriter) -> None:
    """Write about `STEP_BYTES`, or what is left."""
    most = writer.size_bytes + STEP_BYTES
    for chunk in chunks:
        writer.write(chunk)
        if writer.size_bytes >= most:
            return
