"""`LocalModel`s without a store, for tests of what stands above it."""

from datetime import UTC, datetime

from ollama_tts.names import Digest, ModelName
from ollama_tts.store.model import LocalModel, ModelConfig


def local_model(
    name: str, model_format: str = "tone", weights_key: str = "", size_bytes: int = 7
) -> LocalModel:
    """A model of that name; `weights_key` is its name unless given."""
    return LocalModel(
        name=ModelName.parse(name),
        digest=Digest.of(name.encode()),
        weights_key=weights_key or name,
        config=ModelConfig(model_format=model_format, context_length=11),
        files={},
        adapters={},
        parameters={},
        template="",
        system="",
        licenses=(),
        messages=(),
        size_bytes=size_bytes,
        modified_at=datetime(2030, 1, 1, tzinfo=UTC),
    )
