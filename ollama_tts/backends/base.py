"""What a backend is: it weighs and loads models; a `Runner` is a loaded model that speaks."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol, runtime_checkable

from ollama_tts.engine.loop import EngineStats
from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.options import LoadOptions
from ollama_tts.store.model import LocalModel
from ollama_tts.store.tensors import TensorInfo
from ollama_tts.text.rules import TextRules


@dataclass(frozen=True, slots=True)
class Memory:
    """What a loaded model occupies: `total_bytes` in all, `vram_bytes` of it on a GPU."""

    total_bytes: int
    vram_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice of a model, as lists of voices show it. `cloned`: it continues a recording."""

    id: str
    name: str
    language: str
    cloned: bool = False


@dataclass(frozen=True, slots=True)
class Traits:
    """What is true of a loaded model as long as it is loaded.

    `sample_rate_hz`: of all sound it gives. `step_samples`: samples of one codec step (voices
    without a codec: of 20 ms). `native_speed`: it follows the option `speed` itself; where
    False the caller stretches the sound. `deterministic`: the same utterance gives the same
    bytes even when no seed was asked for. `gain_db`: brings the voice to the common level
    (-20 LUFS, ITU-R BS.1770).
    `slots`: utterances it speaks at once. `notes` are shown by ps and show
    (for example {"quantization": "int8", "compile": "off"}).
    """

    sample_rate_hz: int
    step_samples: int
    text_rules: TextRules
    voices: tuple[Voice, ...]
    native_speed: bool
    deterministic: bool
    gain_db: float
    slots: int
    context_length: int
    notes: Mapping[str, str]


class Runner(Protocol):
    """A loaded model."""

    @property
    def traits(self) -> Traits:
        """What is true of it as long as it is loaded."""

    @property
    def memory(self) -> Memory:
        """What it occupies now."""

    def count(self, text: str) -> int:
        """Text tokens in `text` (characters for voices without a tokenizer)."""

    def check(self, utterance: Utterance) -> None:
        """Refuse at once what `speak` could not speak: an unknown voice, for example.

        Raises:
            InvalidRequest: With what is wrong and what is allowed.
        """

    def speak(self, utterance: Utterance) -> AsyncGenerator[Piece, None]:
        """The sound of one utterance, piece by piece, in order; the last has `finish`.

        An async generator: closing it (`aclose`, cancellation) frees the work within a step.

        Raises:
            InvalidRequest: The utterance cannot be spoken by this voice.
            OutOfMemory: Not even alone.
            GenerationFailed: This utterance failed; others did not.
            EngineDead: The model must be loaded anew.
        """

    async def close(self) -> None:
        """Give the memory back; running utterances fail with `EngineDead`."""


@runtime_checkable
class Hosting(Protocol):
    """A runner that other models of the same weights can speak on, each with its adapters."""

    def host(self, model: LocalModel) -> Runner:
        """What `model` speaks with on these weights. Blocks; called in a worker thread.

        It lives on this runner and ends with it; nobody closes it.

        Raises:
            InvalidWeights: An adapter is damaged, or for another model.
            OutOfMemory: It does not fit.
        """


@runtime_checkable
class Batching(Protocol):
    """A runner that decodes several utterances together, and tells how it fares."""

    @property
    def stats(self) -> EngineStats:
        """A snapshot of its engine."""


class Backend(Protocol):
    """Loads models of one format."""

    def estimate(self, model: LocalModel, options: LoadOptions) -> Memory:
        """What loading would occupy, without loading."""

    def load(self, model: LocalModel, options: LoadOptions) -> Runner:
        """Load and warm up. Blocks; called in a worker thread.

        Raises:
            LoadFailed: The files are there but could not be loaded.
            OutOfMemory: They do not fit.
        """


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model without loading it, for `show`.

    `info` are entries of `model_info`, `more` those that only `verbose` asks for; `tensors` are
    its weights, where they lie in the store.
    """

    info: Mapping[str, object]
    more: Mapping[str, object] = field(default_factory=dict)
    tensors: Sequence[TensorInfo] = ()


class Conversion(Protocol):
    """A model's weights on their way into one file of another precision.

    `before` and `after` name the precisions: `F16`, `Q8_0`.
    """

    before: str
    after: str

    @property
    def size_bytes(self) -> int:
        """The size of the whole file."""

    def chunks(self) -> Iterator[bytes]:
        """The file, in order, in pieces of about a megabyte. Blocks.

        Raises:
            InvalidWeights: A tensor holds what its new type cannot; the text names it.
            LoadFailed: The model cannot be read any more.
        """


@runtime_checkable
class Merging(Protocol):
    """A backend that makes some adapters part of the weights it loads."""

    def merges(self, model: LocalModel, options: LoadOptions) -> bool:
        """Whether `model`, loaded so, needs weights of its own for its adapters.

        Raises:
            InvalidRequest: The adapters are damaged, or cannot be used with these options.
        """


@runtime_checkable
class Interruptible(Protocol):
    """A backend whose loads can be ended early; others are left to finish and closed then."""

    def load_until(self, model: LocalModel, options: LoadOptions, stop: Event) -> Runner:
        """`Backend.load`, given up soon after `stop` is set.

        Raises:
            Cancelled: `stop` was set before the model was loaded.
            LoadFailed: The files are there but could not be loaded.
            OutOfMemory: They do not fit.
        """
