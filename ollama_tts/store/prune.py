"""Which files nobody needs: blobs that no manifest names, and what dead writers left."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ollama_tts.errors import BlobNotFound
from ollama_tts.names import Digest
from ollama_tts.store.blobs import Blobs
from ollama_tts.store.durable import failures
from ollama_tts.store.layout import TEMPORARY, Layout
from ollama_tts.store.shelf import Shelf

# A blob is uploaded before the manifest that names it is written: this is how long it may wait.
# Its modification time says when it was last uploaded or offered; the manifest sets it back.
GRACE = timedelta(hours=1)
SETTLED = 2 * GRACE


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning removed."""

    files: int = 0
    size_bytes: int = 0


def prune(layout: Layout, blobs: Blobs, shelf: Shelf, now: datetime) -> Pruned:
    """Remove unreferenced blobs and leftovers that are older than `GRACE`.

    The caller holds the store's lock.

    Raises:
        StoreFailed: A file cannot be removed.
    """
    oldest = now - GRACE
    references = shelf.references()
    stale = [d for d, at in blobs.stored() if at < oldest and d not in references]
    sizes = [size for d in stale if (size := blobs.remove(d)) is not None]
    with failures("remove leftovers"):
        for path, at in leftovers(layout):
            if at < oldest:
                sizes.append(path.stat().st_size)
                path.unlink()
    return Pruned(len(sizes), sum(sizes))


def drop(blobs: Blobs, shelf: Shelf, digests: set[Digest], now: datetime) -> Pruned:
    """Remove those of `digests` that no manifest names any more.

    One that was offered to a client within `GRACE` stays: a model is about to be made of it.
    The caller holds the store's lock.

    Raises:
        StoreFailed: A blob cannot be removed.
    """
    sizes = []
    for digest in digests - shelf.references():
        with suppress(BlobNotFound):
            if blobs.offered_at(digest) < now - GRACE:
                sizes.append(blobs.remove(digest) or 0)
    return Pruned(len(sizes), sum(sizes))


def leftovers(layout: Layout) -> Iterator[tuple[Path, datetime]]:
    """Files of writers that may have died, Ollama's partial downloads too; last write first."""
    found = [*layout.root.glob(TEMPORARY), *layout.blobs.glob(TEMPORARY)]
    found += layout.manifests.rglob(TEMPORARY)
    found += layout.blobs.glob("sha256-*-partial*")
    for path in found:
        yield path, datetime.fromtimestamp(path.stat().st_mtime, UTC)
