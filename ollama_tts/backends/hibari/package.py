"""hibari as the store lists it. Imports no model code."""

import importlib.metadata

from ollama_tts.backends.base import Voice
from ollama_tts.names import ModelName
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel

DISTRIBUTION = "hibari-tts"
VOICES = (Voice(id="heart", name="Heart", language="en"),)


def package_model() -> PackageModel | None:
    """The voice in the wheel, with its licence and notice; None where it is not installed."""
    try:
        package = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return None
    texts = (package.read_text(f"licenses/{name}") for name in ("LICENSE", "NOTICE"))
    return PackageModel(
        name=ModelName.parse("hibari"),
        config=ModelConfig(
            model_format="hibari",
            model_family="hibari",
            parameter_size="7.9M",
            quantization="int8",
            context_length=400,
            info={"general.version": package.version, "general.license": "Apache-2.0"},
        ),
        licenses=tuple(text for text in texts if text),
    )
