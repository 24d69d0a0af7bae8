"""A model hub on loopback: repositories of files at a commit, as its HTTP API shows them."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from typing_extensions import override

from ollama_tts.names import Digest
from tests.support.loopback import Answer, Asked, Loopback

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_LISTING = re.compile(r"/api/models/(?P<repository>[^/]+/[^/]+)/revision/(?P<revision>.+)")
_FILE = re.compile(r"/(?P<repository>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


@dataclass(slots=True)
class Held:
    """One repository. `told` says whether the listing has sizes and hashes; `lies` maps files to
    what it says of them instead."""

    files: Mapping[str, bytes]
    revisions: tuple[str, ...] = ("main", COMMIT)
    told: bool = True
    closed: bool = False
    lies: Mapping[str, dict[str, object]] = field(default_factory=dict)


class FakeHub(Loopback):
    """`token` opens closed repositories; `elsewhere` is where files are redirected to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Held] = {}
        self.token = "hub-token"
        self.elsewhere = ""

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @override
    def respond(self, asked: Asked, body: bytes) -> Answer:
        path = unquote(asked.path)
        match = _LISTING.fullmatch(path) or _FILE.fullmatch(path)
        held = self.held.get(match["repository"]) if match else None
        opened = asked.headers.get("authorization") == f"Bearer {self.token}"
        if match is None or held is None or (held.closed and not opened):
            return Answer(401, b'{"error":"Repository not found"}')
        if match["revision"] not in held.revisions:
            return Answer(404, b'{"error":"Invalid rev id"}')
        if "path" not in match.groupdict():
            return Answer(200, self._listing(held), {"Content-Type": "application/json"})
        data = held.files.get(match["path"])
        if data is None:
            return Answer(404, b"Entry not found")
        if self.elsewhere:
            return Answer(302, b"", {"Location": f"{self.elsewhere}{asked.path}?signature=s"})
        return Answer(200, data, ranged=True)

    def _listing(self, held: Held) -> bytes:
        siblings = []
        for path, data in held.files.items():
            entry: dict[str, object] = {"rfilename": path}
            if held.told:
                entry["size"] = len(data)
                entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            if held.told and path.endswith((".safetensors", ".gguf")):
                sha256 = Digest.of(data).hex
                entry["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 134}
            siblings.append(entry | held.lies.get(path, {}))
        return json.dumps({"id": "x", "sha": COMMIT, "siblings": siblings}).encode()
