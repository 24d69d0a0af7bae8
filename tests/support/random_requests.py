"""Random requests over a description of the API, and what every answer must be like."""

import http.client
import json
import random

PATIENCE_S = 30

ODD: list[object] = [
    None, True, False, 0, -1, 1, 3.0, 1e308, -0.5, 2**70, "", "0", "x", "5m", "\u2028",
    "\ud83d\ude00", "../../etc/passwd", "a" * 300, [], [1], [[]], {}, {"a": {"b": []}}, "é",
    "%00", "\x00",
]  # fmt: skip
NAMES: list[object] = [
    "tone", "tone", "tone", "TONE:latest", "hibari", "nobody", "r", "r:2", "a/b/c/d", "../x", "",
    "registry.ollama.ai/library/tone:latest", "tone:local", "x:cloud:local",
]  # fmt: skip
TEXTS: list[object] = [
    "a", "Hi there.", "", " ", "…", "你好", "1. One\n2. Two", "[laugh]", "x" * 200, "\u0000",
    "$3.50",
]  # fmt: skip
OPTIONS: dict[str, list[object]] = {
    "speed": [0.5, 1, 2, 3, "fast"], "seed": [1, 3.0, -1, "x", 2**63], "audio_format": [
        "wav", "pcm", "mp3", "opus", "flac", "aac", "xyz"], "sample_rate": [8000, 22050, 48000, 7],
    "latency": ["low", "exact", "no"], "gain_db": [0, -3, 90], "pause_ms": [0, 100, -1],
    "temperature": [0, 0.3, "warm"], "num_ctx": [2048, 10**12], "num_gpu": [0, -1], "voice": [
        "tone", "heart", "nobody", "../x"], "language": ["en", "zh", "xx"], "stop": [["x"], 5],
    "unknown": ODD, "deadline_ms": [5000, 0], "cache": [True, False, "x"], "priority": [0, 11],
    "keep_alive": [5], "top_p": [0.5, 0, 1.5], "quantization": ["int8", "int3"],
}  # fmt: skip
DIGESTS = ["sha256:" + "0" * 64, "sha256-" + "a" * 64, "sha256:xyz", "..", "sha256:" + "G" * 64]
ROUTES: list[tuple[str, str, list[str]]] = [
    ("POST", "/api/generate", ["model", "prompt", "stream", "options", "keep_alive", "system",
                               "template", "raw", "format", "think", "suffix", "context"]),
    ("POST", "/api/generate", ["model", "prompt", "stream", "options"]),
    ("POST", "/api/chat", ["model", "messages", "stream", "options", "keep_alive", "tools"]),
    ("POST", "/api/show", ["model", "name", "verbose", "system", "options"]),
    ("POST", "/api/copy", ["source", "destination"]),
    ("DELETE", "/api/delete", ["name"]),
    ("POST", "/api/create", ["model", "from", "parameters", "template", "system", "license",
                             "messages", "files", "modelfile", "quantize", "stream", "info"]),
    ("POST", "/api/push", ["model", "stream", "insecure"]),
    ("POST", "/api/embed", ["model", "input"]),
    ("POST", "/api/embeddings", ["model", "prompt"]),
    ("POST", "/v1/audio/speech", ["model", "input", "voice", "response_format", "speed",
                                  "stream_format", "instructions"]),
    ("POST", "/v1/chat/completions", ["model", "messages"]),
    ("POST", "/synthesize", ["text", "model", "options"]),
    ("POST", "/generate", ["prompt", "model", "options", "stream"]),
    ("POST", "/api/cache", ["model", "prompts", "options", "system", "stream"]),
    ("DELETE", "/api/cache", ["model"]), ("GET", "/api/cache", []),
    ("GET", "/api/tags", []), ("GET", "/api/ps", []), ("GET", "/api/version", []),
    ("GET", "/v1/models", []), ("GET", "/metrics", []), ("GET", "/", []), ("GET", "/nowhere", []),
]  # fmt: skip

FILES: list[object] = [{name: digest} for name in ("a.bin", "/etc/x", "../y") for digest in DIGESTS]
KINDS: dict[str, list[object]] = {
    **dict.fromkeys(("model", "name", "from", "source", "destination"), NAMES),
    **dict.fromkeys(("prompt", "text", "input", "system"), TEXTS),
    "files": FILES,
    "prompts": [["a"], ["Hi.", "", "…"], [], "a", [1], ["a"] * 3],
}


class Maker:
    """Makes requests; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def request(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        draw = self._random
        if draw.random() < 0.04:
            verb = draw.choice(["HEAD", "POST"])
            return (
                verb,
                f"/api/blobs/{draw.choice(DIGESTS)}",
                b"hello" if verb == "POST" else None,
                {},
            )
        method, path, fields = draw.choice(ROUTES)
        if draw.random() < 0.02:
            method = draw.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
        body = None if method == "GET" else self._body(fields)
        headers = {"Accept": draw.choice(["*/*", "audio/wav", "text/event-stream", "audio/x"])}
        if draw.random() < 0.05:
            headers["Content-Type"] = draw.choice(
                ["text/plain", "application/x-www-form-urlencoded"]
            )
        return method, path, body, headers

    def _body(self, fields: list[str]) -> bytes:
        draw = self._random
        if draw.random() < 0.05:
            return draw.choice(
                [b"", b"{", b"null", b"[]", b'"x"', b"{'a':1}", b"\xff\xfe", b"[" * 5000]
            )
        chosen = [field for field in fields if draw.random() < 0.6] or fields[:2]
        text = json.dumps({field: self._value(field) for field in chosen})
        return text.encode("utf-8", "replace")

    def _value(self, field: str) -> object:
        draw = self._random
        choices = KINDS.get(field)
        if choices is not None and draw.random() > 0.15:
            return draw.choice(choices)
        if field in {"options", "parameters"} and draw.random() > 0.15:
            names = draw.sample(sorted(OPTIONS), draw.randrange(4))
            return {name: draw.choice(OPTIONS[name]) for name in names}
        if field == "messages" and draw.random() > 0.15:
            return [{"role": draw.choice(["user", "system", "x"]), "content": draw.choice(TEXTS)}]
        return draw.choice([*ODD, *TEXTS, "mp3", "wav", 1.5, "FROM tone"])


def call(port: int, seed: int, count: int) -> list[tuple[int, str]]:
    """Statuses of `count` requests on one kept connection; what looks wrong, with the request."""
    maker = Maker(seed)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    seen = []
    for _ in range(count):
        method, path, body, headers = maker.request()
        link.request(method, path, body, headers)
        answer = link.getresponse()
        data = answer.read()
        asked = f"{method} {path} {headers} {(body or b'')[:600]!r} -> {data[:300]!r}"
        seen.append((answer.status, asked))
        check(path, answer.status, data, asked)
        if answer.status == 413 or answer.headers.get("connection") == "close":
            link.close()
    link.close()
    return seen


def check(path: str, status: int, data: bytes, asked: str) -> None:
    assert b"Traceback" not in data, asked
    assert b"internal error" not in data, asked
    assert b"/site-packages/" not in data, asked
    if path.startswith("/api/") and status >= 400 and data:
        assert isinstance(json.loads(data)["error"], str), asked
