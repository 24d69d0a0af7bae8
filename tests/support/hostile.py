"""Texts, JSON and manifests as somebody would send them who means harm; all from one `Random`."""

import json
from collections.abc import Mapping, Sequence
from random import Random

from ollama_tts.backends.chattts.layout import REQUIRED
from ollama_tts.names import Digest
from ollama_tts.store import manifests

ATOMS = (
    "..", "../", "..\\", "/", "//", "\\", ".", "~", "~root/", "C:", "\\\\host\\share", "\0", "\n",
    "\r\n", "\t", " ", "", "%2e%2e%2f", "%00", "\u202e", "\u2028", "\ud800", "\udc80", "\ufeff",
    "\uff0e\uff0e", "\u2215", "e\u0301", "\u00e9", "CON", "NUL.txt", "-rf", "$HOME", "$(id)",
    "`id`", "{{", "}}", "@", ":", "::", "sha256:", "sha256-", "SHA256:", "a" * 64, "A" * 64,
    "0" * 63, "f" * 65, "9" * 5000, "latest", "library", "m", "ns", "registry.ollama.ai", "hf.co",
    "127.0.0.1:9", "[::1]", "http://", "https://", "file://", "user:pw@", "blobs", "manifests",
    ".lock", "packages.json", ".tmp", "-partial", "model.gguf", "a.safetensors", "asset/gpt/",
    "/etc/hostname", "/proc/self/fd/1", "x" * 300, "\u4f60\u597d", "\U0001f600",
)  # fmt: skip
GOOD = (
    "m", "M:v1", "ns/m", "ns/m:Q8_0", "host.test:5000/ns/m:latest", "http://host.test/ns/m",
    "hf.co/o/r", "asset/gpt/model.safetensors", "model.gguf", "config.json", "speakers/a.json",
    "sha256:" + "ab" * 32, "sha256-" + "CD" * 32, "bytes 0-9/10", "https://cdn.test/x?y=z",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 1 << 63, -(1 << 63), 1 << 200, 1e308, -0.0, 0.1, "", "x", [], {},
    [[]], {"": {}}, "\ud800", "\0", [None] * 300, {"a": [{"b": [1, 2]}]},
)  # fmt: skip
MEDIA_TYPES = (
    manifests.MODEL, manifests.ADAPTER, manifests.TEMPLATE, manifests.PROMPT, manifests.SYSTEM,
    manifests.PARAMS, manifests.MESSAGES, manifests.LICENSE, manifests.TENSOR, manifests.JSON_FILE,
    manifests.FILE, "text/html",
)  # fmt: skip
CONTENTS: tuple[object, ...] = (
    {"temperature": 0.5, "stop": ["a", "b"], "speed": 1.2, "voice": "x", "quantization": "int8"},
    [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}],
    "{{ .System }} {{ .Prompt }}",
    {"model_format": "tone", "model_family": "tone", "file_type": "F16", "info": {"a": 1}},
    {"general.architecture": "chattts", "gpt": {"hidden_size": 64}},
)
_DEEPEST = 20_000
_LONGEST = 20_000


def text(rnd: Random) -> str:
    """A text of such pieces, or a good one with such a piece in it; sometimes a very long one."""
    if rnd.random() < 0.5:
        good = rnd.choice(GOOD)
        at = rnd.randrange(len(good))
        return good[:at] + (rnd.choice(ATOMS) if rnd.random() < 0.5 else "") + good[at:]
    made = "".join(rnd.choice(ATOMS) for _ in range(rnd.randint(0, 7)))
    return (made * 500)[:_LONGEST] if rnd.random() < 0.01 else made


def value(rnd: Random) -> object:
    """Something that is probably not what was expected."""
    return text(rnd) if rnd.random() < 0.4 else rnd.choice(VALUES)


def changed(rnd: Random, good: object) -> object:
    """The same JSON value with one node of it replaced, doubled, renamed or gone."""
    if isinstance(good, Mapping) and good and rnd.random() < 0.85:
        key = rnd.choice(sorted(good))
        return _changed_entry(rnd, dict(good), key)
    if isinstance(good, Sequence) and not isinstance(good, str) and good and rnd.random() < 0.85:
        at = rnd.randrange(len(good))
        kept = [*good[:at], changed(rnd, good[at]), *good[at + 1 :]]
        return kept * rnd.choice((1, 1, 1, 2, 20))
    return value(rnd)


def _changed_entry(rnd: Random, good: dict[str, object], key: str) -> object:
    way = rnd.random()
    if way < 0.1:
        del good[key]
    elif way < 0.2:
        good[text(rnd)] = good[key]
    else:
        good[key] = changed(rnd, good[key])
    return good


def encoded(rnd: Random, made: object) -> bytes:
    """A value's JSON, its bytes spoilt now and then."""
    data = json.dumps(made).encode()
    at = rnd.randrange(len(data))
    spoilt = (
        data[:at],
        data[:at] + rnd.randbytes(3) + data[at:],
        data[:at] + rnd.randbytes(1) + data[at + 1 :],
        data + data,
        json.dumps(made).encode("utf-16"),
        b"\xef\xbb\xbf" + data,
        rnd.choice((b"[", b'{"a":', b"9")) * rnd.randint(1, _DEEPEST),
    )
    return data if rnd.random() < 0.7 else rnd.choice(spoilt)


def content(rnd: Random) -> bytes:
    """What a layer's blob may hold."""
    good = rnd.choice(CONTENTS)
    return encoded(rnd, good if rnd.random() < 0.5 else changed(rnd, good))


def manifest(rnd: Random, blobs: Sequence[bytes]) -> bytes:
    """A manifest around some blobs, one thing in it wrong more often than not."""
    layers = []
    for data in blobs:
        layer = {
            "mediaType": rnd.choice(MEDIA_TYPES),
            "digest": str(Digest.of(data)),
            "size": len(data),
        }
        named = {"name": text(rnd)} if rnd.random() < 0.5 else {}
        layers.append({**layer, **named})
    made = {
        "schemaVersion": 2,
        "mediaType": manifests.MANIFEST_MEDIA_TYPE,
        "config": {**layers[0], "mediaType": manifests.CONFIG_MEDIA_TYPE},
        "layers": layers[1:],
    }
    return encoded(rnd, made if rnd.random() < 0.4 else changed(rnd, made))


def listing(rnd: Random) -> bytes:
    """A hub's list of files."""
    paths = ["a.gguf", *REQUIRED, *([text(rnd)] if rnd.random() < 0.5 else [])]
    files = [
        {"rfilename": path, "size": 5, "blobId": "a" * 40, "lfs": {"sha256": "b" * 64, "size": 5}}
        for path in paths
    ]
    made = {"sha": "0" * 40, "siblings": files}
    return encoded(rnd, made if rnd.random() < 0.3 else changed(rnd, made))
