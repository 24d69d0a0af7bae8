"""tone as the store lists it."""

from ollama_tts.backends.base import Voice
from ollama_tts.names import ModelName
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel

VOICES = (Voice(id="tone", name="Tone", language="en"),)

_LICENSE = """tone is a part of ollama-tts and has no weights.
Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0
"""


def package_model() -> PackageModel:
    """The diagnostic voice; `general.version` counts changes of how it sounds."""
    return PackageModel(
        name=ModelName.parse("tone"),
        config=ModelConfig(
            model_format="tone",
            model_family="tone",
            parameter_size="0",
            context_length=250,
            info={"general.version": "1", "general.license": "Apache-2.0"},
        ),
        licenses=(_LICENSE,),
    )
