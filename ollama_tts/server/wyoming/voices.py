"""The voices as Wyoming lists them, and what a client means by naming one."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from wyoming.info import Attribution, Info, TtsProgram, TtsVoice

from ollama_tts.errors import InvalidOption
from ollama_tts.node import Node
from ollama_tts.server.default import default_model
from ollama_tts.server.known import known_voices
from ollama_tts.store.model import LocalModel
from ollama_tts.version import __version__

PROGRAM = "ollama-tts"
BOTH = ("en", "zh")
"""What every voice of a ChatTTS model speaks."""

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Named:
    """A voice as it is listed: `name` is `MODEL/VOICE`, or `MODEL` for the model's own choice."""

    name: str
    model: str
    voice: str
    description: str
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model that is to speak, and the options that a choice of voice sets."""

    model: str
    options: dict[str, object] = field(default_factory=dict)


async def listed(node: Node) -> list[Named]:
    """All voices of all models, the default model's first: clients take the first as theirs."""
    return await asyncio.to_thread(_listed, node)


def _listed(node: Node) -> list[Named]:
    default = _folded(default_model(node))
    models = node.store.list()
    models.sort(key=lambda model: (_folded(model.name.short) != default, model.name.short))
    return [voice for model in models for voice in _of(node, model)]


def _of(node: Node, model: LocalModel) -> list[Named]:
    """A model's voices; before those of files, which speak both languages, its own choice."""
    name = model.name.short.removesuffix(":latest")
    of_files = not node.catalog.voices(model.config.model_format)
    named = [
        Named(
            f"{name}/{voice.id}",
            name,
            voice.id,
            f"{voice.name} ({name})",
            BOTH if of_files else (voice.language,),
        )
        for voice in known_voices(node, model)
    ]
    return [Named(name, name, "", name, BOTH), *named] if of_files else named


def info(voices: Sequence[Named]) -> Info:
    """The answer to `describe`."""
    made_by = Attribution(name=PROGRAM, url="")
    program = TtsProgram(
        name=PROGRAM,
        attribution=made_by,
        installed=True,
        description="Speech from local models",
        version=__version__,
        supports_synthesize_streaming=True,
        voices=[
            TtsVoice(
                name=voice.name,
                attribution=Attribution(name=voice.model, url=""),
                installed=True,
                description=voice.description,
                version=None,
                languages=[*voice.languages],
            )
            for voice in voices
        ],
    )
    return Info(tts=[program])


def choose(voices: Sequence[Named], default: str, wish: "Wish") -> Chosen:
    """The model and the options for a voice or a language; without either, the default model.

    Raises:
        InvalidOption: No such voice, or none of that language; the text names those there are.
    """
    if wish.name:
        return _by_name(voices, wish.name, wish.speaker)
    if wish.language:
        return _by_language(voices, wish.language)
    return Chosen(default)


@dataclass(frozen=True, slots=True)
class Wish:
    """A client's `voice`: by name (and speaker), or by language."""

    name: str = ""
    language: str = ""
    speaker: str = ""


def _by_name(voices: Sequence[Named], name: str, speaker: str) -> Chosen:
    folded = _folded(name)
    for voice in voices:
        if _folded(voice.name) == folded:
            chosen = speaker or voice.voice
            return Chosen(voice.model, {"voice": chosen} if chosen else {})
    if any(_folded(voice.model) == folded for voice in voices):
        return Chosen(name, {"voice": speaker} if speaker else {})
    raise InvalidOption(f"voice {name!r} must be one of {_some([v.name for v in voices])}")


def _by_language(voices: Sequence[Named], language: str) -> Chosen:
    """`en`, `en_US` and `en-GB` all mean the first voice that speaks English."""
    wanted = language.replace("_", "-").partition("-")[0].lower()
    for voice in voices:
        if wanted in voice.languages:
            options: dict[str, object] = {"language": wanted}
            return Chosen(voice.model, options | ({"voice": voice.voice} if voice.voice else {}))
    spoken = sorted({spoken for voice in voices for spoken in voice.languages})
    raise InvalidOption(f"language {language!r} must be one of {', '.join(spoken)}")


def _folded(name: str) -> str:
    """A name as two spellings of the same one agree."""
    return name.lower().replace(":latest", "")


def _some(names: Sequence[str]) -> str:
    more = f" … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
