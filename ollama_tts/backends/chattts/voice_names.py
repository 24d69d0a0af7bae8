"""What the voices of a model are called, by the names of its files; nothing is loaded for it."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from ollama_tts.backends.base import Voice
from ollama_tts.backends.chattts.clip import is_recording

DEFAULT = "seed:2"


def listed(speakers: Iterable[str], adapters: Iterable[str]) -> tuple[Voice, ...]:
    """What `VoiceBook.voices` says, known without loading.

    Args:
        speakers: Names of the speaker strings that lie beside the weights.
        adapters: File names of the adapters that are no LoRA.
    """
    named = list(adapters)
    recorded = {PurePosixPath(name).stem for name in named if is_recording(name)}
    stems = [PurePosixPath(name).stem for name in named]
    names = dict.fromkeys([*stems, *speakers]) or (DEFAULT,)
    return tuple(Voice(name, name, "zh", cloned=name in recorded) for name in names)
