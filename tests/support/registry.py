"""A registry that speaks `/v2` on loopback: real enough to push to and to pull from."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import parse_qs

from typing_extensions import override

from ollama_tts.names import Digest
from ollama_tts.store.manifests import MANIFEST_MEDIA_TYPE
from tests.support.loopback import Answer, Asked, Loopback

Auth = Literal["", "basic", "anonymous", "login", "key"]
LOGIN = "Basic " + base64.b64encode(b"reader:pass-word").decode()
_PATH = re.compile(r"/v2/(?P<repository>[^/]+/[^/]+)/(?P<kind>manifests|blobs)/(?P<rest>.*)")


def etag_of(chunks: list[bytes]) -> str:
    """What S3 calls a file that came in these chunks."""
    sums = b"".join(hashlib.md5(chunk).digest() for chunk in chunks)
    return f"{hashlib.md5(sums).hexdigest()}-{len(chunks)}"


class FakeStorage(Loopback):
    """Takes chunks of uploads by PUT, each at a path of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks: dict[str, bytes] = {}

    def of(self, ticket: str) -> list[bytes]:
        """The chunks of one upload, in order."""
        mine = [path for path in self.chunks if path.startswith(f"/{ticket}/")]
        return [self.chunks[path] for path in sorted(mine, key=lambda p: int(p.rpartition("/")[2]))]

    @override
    def respond(self, asked: Asked, body: bytes) -> Answer:
        self.chunks[asked.path] = body
        return Answer(200)


class FakeRegistry(Loopback):
    """`auth` says what it wants: Basic, or a token that is given to anybody, to `reader`, or to
    whoever signs. `realm` is where it sends for tokens; its own host unless set. `storage`, where
    set, is where it sends chunks of uploads.
    """

    def __init__(self, auth: Auth = "") -> None:
        super().__init__()
        self.auth = auth
        self.realm = ""
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.uploads: dict[str, bytearray] = {}
        self.tokens: list[Asked] = []
        self.storage: FakeStorage | None = None

    def put(self, repository: str, tag: str, layers: Mapping[str, bytes], config: bytes) -> bytes:
        """Offer a model; gives its manifest's bytes. `layers` maps file names to bytes."""
        kind = "application/vnd.ollama-tts.image.file"
        listed = [{**self._blob(kind, data), "name": name} for name, data in layers.items()]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_MEDIA_TYPE,
            "config": self._blob("application/vnd.docker.container.image.v1+json", config),
            "layers": listed,
        }
        data = json.dumps(manifest, indent=2).encode()
        self.manifests[f"{repository}:{tag}"] = data
        return data

    def _blob(self, media_type: str, data: bytes) -> dict[str, object]:
        digest = str(Digest.of(data))
        self.blobs[digest] = data
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    @override
    def respond(self, asked: Asked, body: bytes) -> Answer:
        if asked.path == "/token":
            return self._token(asked)
        refusal = self._refusal(asked)
        if refusal is not None:
            return refusal
        match = _PATH.fullmatch(asked.path)
        if match is None:
            return Answer(200, b"{}")
        if match["kind"] == "manifests":
            return self._manifest(asked, f"{match['repository']}:{match['rest']}", body)
        if match["rest"].startswith("uploads/"):
            return self._upload(asked, match["rest"].removeprefix("uploads/"), body)
        data = self.blobs.get(match["rest"])
        return Answer(404, b'{"errors":[]}') if data is None else Answer(200, data, ranged=True)

    def _manifest(self, asked: Asked, place: str, body: bytes) -> Answer:
        if asked.method == "PUT":
            self.manifests[place] = body
            return Answer(201)
        data = self.manifests.get(place)
        if data is None:
            return Answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
        return Answer(200, data, {"Content-Type": MANIFEST_MEDIA_TYPE})

    def _upload(self, asked: Asked, ticket: str, body: bytes) -> Answer:
        query = parse_qs(asked.query)
        if asked.method == "POST":
            if query.get("mount", [""])[0] in self.blobs:
                return Answer(201)
            ticket = f"u{len(self.uploads)}"
            self.uploads[ticket] = bytearray()
        elif ticket not in self.uploads:
            return Answer(404, b'{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}')
        there = self.uploads[ticket]
        if asked.method == "PATCH":
            if self.storage is not None:
                return self._redirected(self.storage, asked, ticket)
            if not asked.headers["content-range"].startswith(f"{len(there)}-"):
                return Answer(416)
            there += body
        if asked.method == "PUT":
            return self._whole(ticket, query)
        path = asked.path.rpartition("/")[0]
        headers = {"Location": f"{path}/{ticket}?state=1", "Range": f"0-{max(0, len(there) - 1)}"}
        return Answer({"GET": 204}.get(asked.method, 202), b"", headers)

    def _redirected(self, storage: FakeStorage, asked: Asked, ticket: str) -> Answer:
        assert asked.headers["x-redirect-uploads"] == "1"
        start = asked.headers["content-range"].partition("-")[0]
        place = f"http://{storage.host}/{ticket}/{start}?signature=s"
        return Answer(307, b"", {"Location": place, "Docker-Upload-Location": asked.path})

    def _whole(self, ticket: str, query: Mapping[str, list[str]]) -> Answer:
        """The end of an upload; chunks that went to the storage are known by their etag."""
        data = bytes(self.uploads[ticket])
        if self.storage is not None:
            chunks = self.storage.of(ticket)
            assert query["etag"] == [etag_of(chunks)]
            data = b"".join(chunks)
        [digest] = query["digest"]
        if str(Digest.of(data)) != digest:
            return Answer(400, b'{"errors":[{"code":"DIGEST_INVALID"}]}')
        self.blobs[digest] = data
        return Answer(201)

    def _refusal(self, asked: Asked) -> Answer | None:
        shown = asked.headers.get("authorization", "")
        wanted = LOGIN if self.auth == "basic" else f"Bearer token-{self.auth}"
        if not self.auth or shown == wanted:
            return None
        if self.auth == "basic":
            return Answer(401, b"", {"WWW-Authenticate": 'Basic realm="registry"'})
        realm = self.realm or f"http://{self.host}/token"
        challenge = f'Bearer realm="{realm}",service="fake",scope="repository:ns/m:pull"'
        return Answer(401, b"", {"WWW-Authenticate": challenge})

    def _token(self, asked: Asked) -> Answer:
        self.tokens.append(asked)
        shown = asked.headers.get("authorization", "")
        right = {
            "anonymous": not shown,
            "login": shown == LOGIN,
            "key": ":" in shown and not shown.startswith("Basic"),
        }
        if not right.get(self.auth):
            return Answer(401, b'{"error":"unauthorized"}')
        return Answer(200, json.dumps({"token": f"token-{self.auth}"}).encode())
