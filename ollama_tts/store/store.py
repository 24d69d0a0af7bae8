"""`Store`: the models on disk, as one object.

Everything here blocks; asynchronous callers use a thread. Readers never wait for writers.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ollama_tts.errors import InvalidRequest, ModelNotFound, NotFound, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.store.blobs import DEFAULT_MAX_BYTES, Blobs, BlobWriter
from ollama_tts.store.contents import assemble
from ollama_tts.store.layout import Layout
from ollama_tts.store.lock import StoreLock
from ollama_tts.store.manifests import Manifest, encode_manifest, parse_manifest
from ollama_tts.store.model import LocalModel
from ollama_tts.store.packages import (
    PackageModel,
    package_manifest,
    read_record,
    write_record,
)
from ollama_tts.store.prune import SETTLED, Pruned, drop, prune
from ollama_tts.store.shelf import Shelf, Shelved, Stamp

_log = logging.getLogger(__name__)


class Store:
    """One models folder. Making the object touches nothing; `open` prepares the folder.

    `prune` False keeps blobs that no manifest names (OLLAMA_NOPRUNE); deleting a model still
    frees what only it used. `quota_bytes` bounds all blobs together; 0 does not.
    `clock` tells the time that ages are measured by.
    """

    def __init__(
        self,
        models_dir: Path,
        *,
        prune: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        max_blob_bytes: int = DEFAULT_MAX_BYTES,
        quota_bytes: int = 0,
    ) -> None:
        self._layout = Layout(models_dir)
        self._prunes = prune
        self._clock = clock
        self._lock = StoreLock(self._layout.lock)
        self._shelf = Shelf(self._layout)
        self._known: dict[ModelName, tuple[Stamp, LocalModel]] = {}
        self.blobs = Blobs(self._layout, max_blob_bytes, quota_bytes)

    def open(self, packages: Iterable[PackageModel] = ()) -> None:
        """Prune, and put package voices in place that were never here. Safe to repeat.

        A folder that cannot be written is served as it is, with one warning.
        """
        try:
            with self._lock.held():
                self.blobs.rename_old_style()
                if self._prunes:
                    self._log_pruned(prune(self._layout, self.blobs, self._shelf, self._clock()))
                self._offer_packages(packages)
        except StoreFailed as error:
            _log.warning("the model store is served as it is: %s", error)

    def prune(self) -> Pruned:
        """Remove blobs that no manifest names and leftovers, both older than an hour.

        Raises:
            StoreFailed: The store cannot be written.
        """
        with self._lock.held():
            return prune(self._layout, self.blobs, self._shelf, self._clock())

    def list(self) -> list[LocalModel]:
        """All readable models, newest first; each unreadable one is logged once and skipped."""
        models = []
        for name in self._shelf.names():
            try:
                models.append(self._get(name))
            except ModelNotFound:
                continue  # deleted meanwhile
            except (InvalidRequest, NotFound, StoreFailed) as error:
                self._shelf.warn_once(name, error)
        there = {model.name for model in models}
        for name in [*self._known]:  # other threads look and delete meanwhile
            if name not in there:
                self._known.pop(name, None)
        return sorted(models, key=lambda model: (-model.modified_at.timestamp(), model.name.full))

    def get(self, name: ModelName) -> LocalModel:
        """The model of this name, in any case.

        Raises:
            ModelNotFound: It is not in the store.
            StoreFailed: It is there, and damaged, incomplete or unreadable.
        """
        try:
            return self._get(self._shelf.spelled(name))
        except ModelNotFound as error:
            raise ModelNotFound(f"model '{name.short}' not found") from error
        except (InvalidRequest, NotFound) as error:
            raise StoreFailed(f"model '{name.short}' cannot be read: {error}") from error

    def _get(self, name: ModelName) -> LocalModel:
        stamp = self._shelf.stamp(name)
        known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        model = assemble(self._shelf.read(name), self.blobs, self._layout)
        self._known[name] = (stamp, model)
        return model

    def manifest(self, name: ModelName) -> Shelved:
        """The manifest of this name, in any case.

        Raises:
            ModelNotFound: It is not in the store.
            StoreFailed: It is there and damaged.
        """
        return self._shelf.read(self._shelf.spelled(name))

    def read(self, name: ModelName) -> tuple[LocalModel, Manifest]:
        """A model and its manifest, in any case, both of one moment.

        Raises:
            ModelNotFound: It is not in the store.
            StoreFailed: It is there, and damaged, incomplete or unreadable.
        """
        shelved = self.manifest(name)
        try:
            return assemble(shelved, self.blobs, self._layout), shelved.manifest
        except (InvalidRequest, NotFound) as error:
            raise StoreFailed(f"model '{name.short}' cannot be read: {error}") from error

    def commit(
        self,
        name: ModelName,
        manifest: Manifest,
        contents: Mapping[Digest, bytes],
        made: BlobWriter | None = None,
    ) -> LocalModel:
        """Make `name` mean `manifest`, in one step and for good.

        `contents` are the small blobs that are written with it, `made` is a large one that was
        written for it; all others must be there in full. Blobs that only the replaced manifest
        used go, `made` where it fails.

        Raises:
            BlobNotFound: A blob is not there; nothing has changed.
            InvalidRequest: The manifest is over its limits, a text is damaged, or a blob has
                another size than the manifest says; nothing has changed.
            StoreFailed: Disk full, read-only …
        """
        with self._lock.held():
            fresh = made is not None and not self.blobs.has(made.digest)
            try:
                if made is not None:
                    made.commit()
                return self._commit(name, encode_manifest(manifest), manifest, contents)
            except BaseException:
                if made is not None and fresh and made.digest not in self._shelf.references():
                    self.blobs.remove(made.digest)
                raise

    def adopt(self, name: ModelName, data: bytes) -> LocalModel:
        """Make `name` mean the manifest in these bytes, kept byte for byte; else as `commit`.

        Raises:
            BlobNotFound: A blob is not there; nothing has changed.
            InvalidRequest: The manifest or what it names is damaged; nothing has changed.
            StoreFailed: Disk full, read-only …
        """
        manifest = parse_manifest(data)
        with self._lock.held():
            shelved = Shelved(name, manifest, Digest.of(data), data, self._clock())
            assemble(shelved, self.blobs, self._layout)
            return self._commit(name, data, manifest, {})

    def _commit(
        self,
        name: ModelName,
        data: bytes,
        manifest: Manifest,
        contents: Mapping[Digest, bytes],
    ) -> LocalModel:
        for content in contents.values():
            self.blobs.put(content)
        self._check_sizes(manifest)
        spelled = self._shelf.spelled(name)
        shelved = Shelved(spelled, parse_manifest(data), Digest.of(data), data, self._clock())
        assemble(shelved, self.blobs, self._layout)  # what cannot be read again is not written
        replaced = self._digests(spelled)
        self._shelf.write(spelled, data)
        for layer in manifest.blobs():
            self.blobs.settle(layer.digest, self._clock() - SETTLED)
        if self._prunes:
            drop(self.blobs, self._shelf, replaced, self._clock())
        return self._get(spelled)

    def _check_sizes(self, manifest: Manifest) -> None:
        for layer in manifest.blobs():
            size = self.blobs.size_bytes(layer.digest)
            if size != layer.size_bytes:
                raise InvalidRequest(
                    f"blob {layer.digest} has {size} bytes, not {layer.size_bytes}"
                )

    def copy(self, source: ModelName, destination: ModelName) -> None:
        """Let `destination` mean what `source` means.

        Raises:
            ModelNotFound: There is no source.
            StoreFailed: The source is damaged, or the store cannot be written.
        """
        with self._lock.held():
            shelved = self.manifest(source)
            if self._shelf.spelled(destination) != shelved.name:
                self._commit(destination, shelved.data, shelved.manifest, {})

    def delete(self, name: ModelName) -> Pruned:
        """Remove a model, in any case, and the blobs that only it used.

        Damaged models can be removed too, and blobs that are gone already do not matter.

        Raises:
            ModelNotFound: It is not in the store.
            StoreFailed: The store cannot be written.
        """
        with self._lock.held():
            spelled = self._shelf.spelled(name)
            digests = self._digests(spelled)
            self._shelf.remove(spelled)
            self._known.pop(spelled, None)
            return drop(self.blobs, self._shelf, digests, self._clock())

    def _digests(self, name: ModelName) -> set[Digest]:
        """The blobs a manifest names; empty where it is absent or damaged."""
        try:
            return {layer.digest for layer in self._shelf.read(name).manifest.blobs()}
        except (ModelNotFound, StoreFailed):
            return set()

    def install(self, package: PackageModel) -> LocalModel:
        """Put a package voice in place, over whatever has its name.

        Raises:
            StoreFailed: The store cannot be written.
        """
        with self._lock.held():
            record = read_record(self._layout)
            model = self._install(package)
            write_record(self._layout, {**record, package.name: model.digest})
            return model

    def _install(self, package: PackageModel) -> LocalModel:
        manifest, contents = package_manifest(package)
        return self._commit(package.name, encode_manifest(manifest), manifest, contents)

    def _offer_packages(self, packages: Iterable[PackageModel]) -> None:
        record = read_record(self._layout)
        before = dict(record)
        for package in packages:
            manifest, _ = package_manifest(package)
            wanted = Digest.of(encode_manifest(manifest))
            if record.get(package.name) != wanted and self._may_place(package.name, record):
                record[package.name] = self._install(package).digest
        if record != before:
            write_record(self._layout, record)

    def _may_place(self, name: ModelName, record: Mapping[ModelName, Digest]) -> bool:
        """Whether a voice was never offered, or lies here as an older package left it."""
        try:
            there = self.manifest(name).digest
        except StoreFailed:
            return False
        except ModelNotFound:
            return name not in record
        return record.get(name) == there

    def _log_pruned(self, pruned: Pruned) -> None:
        if pruned.files:
            _log.info(
                "pruned %d files that no model names, %d bytes", pruned.files, pruned.size_bytes
            )
