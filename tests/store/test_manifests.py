import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidRequest
from ollama_tts.names import Digest
from ollama_tts.store import manifests
from ollama_tts.store.manifests import (
    MAX_LAYERS,
    MAX_MANIFEST_BYTES,
    Layer,
    Manifest,
    encode_manifest,
    parse_manifest,
)

D = "sha256:" + "ab" * 32
CONFIG = {"mediaType": manifests.CONFIG_MEDIA_TYPE, "digest": D, "size": 3}
digests = st.binary(min_size=32, max_size=32).map(lambda data: Digest(data.hex()))
layers = st.builds(
    Layer,
    media_type=st.text(max_size=20),
    digest=digests,
    size_bytes=st.integers(0, manifests.MAX_LAYER_BYTES),
    name=st.text(max_size=10),
    from_=st.text(max_size=10),
)


def raw(**changes: object) -> dict[str, Any]:
    whole = {
        "schemaVersion": 2,
        "mediaType": manifests.MANIFEST_MEDIA_TYPE,
        "config": CONFIG,
        "layers": [{**CONFIG, "mediaType": manifests.MODEL}],
    }
    return {**whole, **changes}


@given(layers, st.lists(layers, max_size=5))
def test_print_then_parse_is_a_fixed_point(config: Layer, others: list[Layer]) -> None:
    manifest = Manifest(config, tuple(others))
    data = encode_manifest(manifest)
    assert parse_manifest(data) == manifest
    assert encode_manifest(parse_manifest(data)) == data


def test_the_file_is_the_one_that_ollama_writes() -> None:
    layer = Layer(manifests.MODEL, Digest.parse(D), 5, from_="base")
    data = encode_manifest(
        Manifest(Layer(manifests.CONFIG_MEDIA_TYPE, Digest.parse(D), 3), (layer,))
    )
    assert (
        data
        == (
            '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",'
            '"config":{"mediaType":"application/vnd.docker.container.image.v1+json",'
            f'"digest":"{D}","size":3}},'
            '"layers":[{"mediaType":"application/vnd.ollama.image.model",'
            f'"digest":"{D}","size":5,"from":"base"}}]}}\n'
        ).encode()
    )


def test_what_the_registry_adds_is_passed_over() -> None:
    manifest = parse_manifest(json.dumps(raw(annotations={"a": [1]})).encode())
    assert [layer.media_type for layer in manifest.layers] == [manifests.MODEL]
    assert manifest.size_bytes == 6


def test_no_layers_are_a_manifest() -> None:
    assert parse_manifest(json.dumps(raw(layers=[])).encode()).layers == ()


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"schemaVersion":"\xff"}',
    "null": b"null",
    "a list": b"[]",
    "layers null": json.dumps(raw(layers=None)).encode(),
    "layers absent": json.dumps({k: v for k, v in raw().items() if k != "layers"}).encode(),
    "a layer null": json.dumps(raw(layers=[None])).encode(),
    "config null": json.dumps(raw(config=None)).encode(),
    "config absent": json.dumps({k: v for k, v in raw().items() if k != "config"}).encode(),
    "config without digest": json.dumps(raw(config={"mediaType": "x", "size": 1})).encode(),
    "digest empty": json.dumps(raw(config={**CONFIG, "digest": ""})).encode(),
    "digest a path": json.dumps(raw(config={**CONFIG, "digest": "../../etc/passwd"})).encode(),
    "size negative": json.dumps(raw(config={**CONFIG, "size": -1})).encode(),
    "size a text": json.dumps(raw(config={**CONFIG, "size": "1"})).encode(),
    "size a fraction": json.dumps(raw(config={**CONFIG, "size": 1.5})).encode(),
    "size 2^62": json.dumps(raw(config={**CONFIG, "size": 2**62})).encode(),
    "size 2^100": json.dumps(raw(config={**CONFIG, "size": 2**100})).encode(),
    "schema 1": json.dumps(raw(schemaVersion=1)).encode(),
    "too many layers": json.dumps(raw(layers=[CONFIG] * (MAX_LAYERS + 1))).encode(),
    "nested": b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "2 GB, or as much of it as is read": b" " * (MAX_MANIFEST_BYTES + 1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="manifest"):
        parse_manifest(data)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_manifest_or_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_manifest(data)
