"""Model format → backend, imported on first use; and the voices that installed packages bring."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ollama_tts.backends.base import Backend, Conversion, Facts, Voice
from ollama_tts.backends.chattts.facts import read_facts
from ollama_tts.backends.hibari import package as hibari_package
from ollama_tts.backends.kokoro import package as kokoro_package
from ollama_tts.backends.kokoro.styles import VOICES as KOKORO_VOICES
from ollama_tts.backends.tone import package as tone_package
from ollama_tts.errors import Unsupported
from ollama_tts.store.model import LocalModel
from ollama_tts.store.packages import PackageModel


def _hibari() -> Backend:
    from ollama_tts.backends.hibari.backend import HibariBackend

    return HibariBackend()


def _tone() -> Backend:
    from ollama_tts.backends.tone.backend import ToneBackend

    return ToneBackend()


def _kokoro() -> Backend:
    from ollama_tts.backends.kokoro.backend import KokoroBackend

    return KokoroBackend()


def _chattts() -> Backend:
    from ollama_tts.backends.chattts.backend import ChatTTSBackend

    return ChatTTSBackend()


FORMATS: Mapping[str, Callable[[], Backend]] = {
    "hibari": _hibari,
    "kokoro": _kokoro,
    "tone": _tone,
    "chattts": _chattts,
}


def _chattts_conversion(
    files: Mapping[str, Path], precision: str | None, licenses: Sequence[str]
) -> Conversion:
    from ollama_tts.backends.chattts.conversion import convert

    return convert(files, precision, licenses)


def _chattts_voices(model: LocalModel) -> tuple[Voice, ...]:
    from ollama_tts.backends.chattts.lora_files import lora_names
    from ollama_tts.backends.chattts.sources import open_source
    from ollama_tts.backends.chattts.voice_names import listed

    lora = lora_names(model.adapters)
    speakers = open_source(model.files).speakers
    return listed(speakers, [name for name in model.adapters if name not in lora])


class Catalog:
    """Which backend loads which model. One object of each backend per catalog."""

    def __init__(self, formats: Mapping[str, Callable[[], Backend]] = FORMATS) -> None:
        self._formats = formats
        self._made: dict[str, Backend] = {}

    def backend(self, model_format: str) -> Backend:
        """The backend of a model's `config.model_format`.

        Raises:
            Unsupported: None here loads it; the text names those that are.
        """
        if model_format not in self._formats:
            known = ", ".join(self._formats)
            raise Unsupported(f"model format {model_format!r} is not one of {known}")
        if model_format not in self._made:
            self._made[model_format] = self._formats[model_format]()
        return self._made[model_format]

    def conversion(
        self,
        model_format: str,
        files: Mapping[str, Path],
        precision: str | None = None,
        licenses: Sequence[str] = (),
    ) -> Conversion:
        """A model on its way into one GGUF of `precision`; None keeps what each tensor is.

        `files` are its weights, as in `LocalModel.files`.

        Raises:
            InvalidRequest: Its files are no model, or in a precision that cannot be changed.
            LoadFailed: A file cannot be read.
            Unsupported: Models of this format are not files that could be converted.
        """
        if model_format != "chattts" or not files:
            raise Unsupported(
                f"{model_format} models come with a package: there are no weights to write anew"
            )
        return _chattts_conversion(files, precision, licenses)

    def facts(self, model: LocalModel) -> Facts:
        """What is known of a model without loading it. Reads the headers of its files.

        Raises:
            InvalidRequest: Its files are no sound model.
            LoadFailed: A file cannot be read.
        """
        model_format = model.config.model_format
        if model_format == "chattts":
            return read_facts(model.files)
        voices = self.voices(model_format)
        languages = sorted({voice.language for voice in voices})
        return Facts(
            {
                "general.languages": languages,
                f"{model_format}.speaker.names": [voice.id for voice in voices],
            }
            if voices
            else {}
        )

    def package_models(self) -> tuple[PackageModel, ...]:
        """The voices of installed packages: in the store from the first start."""
        models = (
            hibari_package.package_model(),
            kokoro_package.package_model(),
            tone_package.package_model(),
        )
        return tuple(model for model in models if model is not None)

    def missing_extra(self, name: str) -> str | None:
        """The extra that would bring a voice of this name; None where none would."""
        return "kokoro" if name == "kokoro" and kokoro_package.package_model() is None else None

    def languages(self) -> str:
        """Which models speak what, in words, for error messages."""
        rows = []
        for model_format in self._formats:
            if model_format == "tone":
                continue
            spoken = {voice.language for voice in self.voices(model_format)} or {"en", "zh"}
            extra = self.missing_extra(model_format)
            how = f", after pip install 'ollama-tts[{extra}]'" if extra is not None else ""
            rows.append(f"{model_format} ({', '.join(sorted(spoken))}{how})")
        return "voices by language: " + ", ".join(rows)

    def voices(self, model_format: str) -> tuple[Voice, ...]:
        """The voices of a format, known without loading; empty where only the model knows."""
        known = {
            "hibari": hibari_package.VOICES,
            "kokoro": KOKORO_VOICES,
            "tone": tone_package.VOICES,
        }
        return known.get(model_format, ())

    def voices_of(self, model: LocalModel) -> tuple[Voice, ...]:
        """The voices of one model, known without loading. Reads the headers of its files.

        Raises:
            InvalidRequest: Its files are no sound model.
            LoadFailed: A file cannot be read.
        """
        if model.config.model_format == "chattts":
            return _chattts_voices(model)
        return self.voices(model.config.model_format)
