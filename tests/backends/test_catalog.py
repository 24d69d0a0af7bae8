import subprocess
import sys

import pytest

from ollama_tts.backends.base import Interruptible
from ollama_tts.backends.catalog import Catalog
from ollama_tts.backends.hibari import package
from ollama_tts.errors import Unsupported
from ollama_tts.options import LoadOptions
from tests.support.local_models import local_model


def test_one_backend_of_each_format() -> None:
    catalog = Catalog()
    assert catalog.backend("tone") is catalog.backend("tone")
    assert catalog.backend("tone") is not catalog.backend("hibari")
    assert isinstance(catalog.backend("tone"), Interruptible)
    assert not isinstance(catalog.backend("hibari"), Interruptible)


def test_every_format_has_a_backend() -> None:
    catalog = Catalog()
    for model_format in ("hibari", "kokoro", "tone", "chattts"):
        assert callable(catalog.backend(model_format).load)


def test_an_unknown_format_is_named_with_those_that_are() -> None:
    with pytest.raises(Unsupported, match=r"'llama' is not one of .*hibari.*chattts"):
        Catalog().backend("llama")


def test_package_voices() -> None:
    catalog = Catalog()
    models = {model.name.model: model for model in catalog.package_models()}
    assert {"hibari", "tone"} <= set(models)
    for model in models.values():
        assert model.config.model_format in {"hibari", "kokoro", "tone"}
        assert model.config.info["general.version"]
        assert model.licenses
    assert "Apache License" in models["hibari"].licenses[0]
    assert "Kokoro-82M" in models["hibari"].licenses[1], "the notice names where it comes from"


def test_a_wheel_that_is_not_installed_is_no_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "DISTRIBUTION", "no-such-distribution")
    assert "hibari" not in {model.name.model for model in Catalog().package_models()}


def test_voices_without_loading_are_those_of_the_loaded() -> None:
    catalog = Catalog()
    for name in ("hibari", "tone"):
        runner = catalog.backend(name).load(local_model(name, name), LoadOptions())
        assert catalog.voices(name) == runner.traits.voices
    assert catalog.voices("llama") == ()


def test_a_catalog_imports_no_model_code() -> None:
    code = (
        "import sys; from ollama_tts.backends.catalog import Catalog; Catalog().package_models();"
        "heavy = {'torch', 'onnxruntime', 'hibari'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
