import json

import pytest
from hypothesis import given, strategies as st

from ollama_tts.errors import InvalidRequest
from ollama_tts.store.config_blob import decode_config, encode_config
from ollama_tts.store.model import ModelConfig

words = st.text(max_size=8)
configs = st.builds(
    ModelConfig,
    model_format=words,
    model_family=words,
    parameter_size=words,
    quantization=words,
    capabilities=st.lists(words, max_size=3).map(tuple),
    context_length=st.integers(0, 2**40),
    embedding_length=st.integers(0, 2**40),
    parent_model=words,
    requires=words,
    info=st.dictionaries(words, st.integers(-9, 9) | words | st.booleans(), max_size=3),
)


@given(configs)
def test_print_then_parse_is_a_fixed_point(config: ModelConfig) -> None:
    assert decode_config(encode_config(config)) == config


def test_the_keys_are_those_of_ollama() -> None:
    config = ModelConfig("chattts", "chattts", "11M", "fp16", ("completion",), 4096, 256, "base:x")
    assert json.loads(encode_config(config)) == {
        "model_format": "chattts", "model_family": "chattts", "model_families": ["chattts"],
        "model_type": "11M", "file_type": "fp16", "capabilities": ["completion"],
        "context_length": 4096, "embedding_length": 256, "parent_model": "base:x",
        "architecture": "amd64", "os": "linux",
    }  # fmt: skip


def test_order_of_info_does_not_matter() -> None:
    one = ModelConfig("x", info={"a": 1, "b": 2})
    other = ModelConfig("x", info={"b": 2, "a": 1})
    assert encode_config(one) == encode_config(other)


def test_a_config_of_stock_ollama_is_read() -> None:
    data = (
        b'{"model_format":"gguf","model_family":"llama","model_families":["llama"],'
        b'"model_type":"1.2B","file_type":"Q8_0","architecture":"amd64","os":"linux",'
        b'"rootfs":{"type":"layers","diff_ids":["sha256:x"]}}'
    )
    config = decode_config(data)
    assert (config.model_format, config.parameter_size, config.capabilities) == ("gguf", "1.2B", ())


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"null", b'{"model_format":1}', b'{"info":[]}', b'{"capabilities":"x"}', b"\xff",
     b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"],
)  # fmt: skip
def test_damaged(data: bytes) -> None:
    with pytest.raises(InvalidRequest, match="config is damaged"):
        decode_config(data)
