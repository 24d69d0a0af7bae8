"""`Index`: what lies in the cache's folder, in sqlite; its write lock is the folder's.

Several processes may share a folder: whoever writes files or rows holds the write lock meanwhile,
and it falls with its process. "Used" counts up and is no time, so clocks may jump.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from ollama_tts.cache.sound import Extent

_VERSION = 2
_BUSY_S = 10.0
_SCHEMA = """
DROP TABLE IF EXISTS sounds;
DROP TABLE IF EXISTS total;
CREATE TABLE sounds (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX by_use ON sounds (used);
CREATE TABLE total (sounds INTEGER NOT NULL, size INTEGER NOT NULL);
INSERT INTO total VALUES (0, 0);
CREATE TRIGGER added AFTER INSERT ON sounds BEGIN
    UPDATE total SET sounds = sounds + 1, size = size + NEW.size; END;
CREATE TRIGGER removed AFTER DELETE ON sounds BEGIN
    UPDATE total SET sounds = sounds - 1, size = size - OLD.size; END;
"""


class Index:
    """Keys with their model, size and order of last use.

    Raises:
        sqlite3.Error: The file cannot be opened, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
            self._inode = path.stat().st_ino
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        with self.writing():
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                for statement in _statements(_SCHEMA):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {_VERSION}")
        self._database.execute("SELECT key, model, size, used FROM sounds LIMIT 1").fetchone()

    @property
    def stale(self) -> bool:
        """Whether the file has been removed or replaced since it was opened."""
        try:
            return self._path.stat().st_ino != self._inode
        except OSError:
            return True

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; rows changed inside become true together, or not at all."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @property
    def extent(self) -> Extent:
        """How much there is."""
        sounds, size = self._database.execute("SELECT sounds, size FROM total").fetchone()
        return Extent(sounds, size)

    def rows(self, model: str | None = None) -> dict[str, int]:
        """Keys with the sizes of their files: of all sounds, or of one model's."""
        return dict(
            self._database.execute(
                "SELECT key, size FROM sounds WHERE ?1 IS NULL OR model = ?1", (model,)
            )
        )

    def size_of(self, key: str) -> int | None:
        """The size of one sound's file, or None."""
        row = self._database.execute("SELECT size FROM sounds WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def oldest(self) -> str | None:
        """The key that was used longest ago."""
        row = self._database.execute("SELECT key FROM sounds ORDER BY used LIMIT 1").fetchone()
        return None if row is None else str(row[0])

    def add(self, key: str, model: str, size_bytes: int) -> None:
        """A sound of a key that is not there, used just now."""
        self._database.execute(
            "INSERT INTO sounds SELECT ?, ?, ?, COALESCE(MAX(used), 0) + 1 FROM sounds",
            (key, model, size_bytes),
        )

    def touch(self, keys: Iterable[str]) -> None:
        """These were used, in this order; the last just now."""
        self._database.executemany(
            "UPDATE sounds SET used = (SELECT MAX(used) + 1 FROM sounds) WHERE key = ?",
            [(key,) for key in keys],
        )

    def remove(self, key: str) -> None:
        """Forget a key, if it is there."""
        self._database.execute("DELETE FROM sounds WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one at a time: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def remove_index(path: Path) -> None:
    """Remove a damaged index with the files beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108  # a name with a suffix, not a path
