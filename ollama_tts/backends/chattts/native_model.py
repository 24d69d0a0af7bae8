"""`NativeStepModel`: the engine's `StepModel` with the language model in the native library.

Decoder and vocoder run in the native library too: in float32, and the products inside their
residual blocks in int8 where the language model is. Only the inverse transform is torch's.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.memory import guarded
from ollama_tts.backends.chattts.native.step import NativeShape, NativeStep, Part
from ollama_tts.backends.chattts.native_stages import native_stages
from ollama_tts.backends.chattts.renderer import Renderer, Synthesizer
from ollama_tts.backends.chattts.vocabulary import folded_head
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Geometry, Job, Outcome, Prefill, Window

LAYER_PARTS = {
    Part.QUERY: "self_attn.q_proj",
    Part.KEY: "self_attn.k_proj",
    Part.VALUE: "self_attn.v_proj",
    Part.OUTPUT: "self_attn.o_proj",
    Part.GATE: "mlp.gate_proj",
    Part.UP: "mlp.up_proj",
    Part.DOWN: "mlp.down_proj",
    Part.NORM_ATTENTION: "input_layernorm",
    Part.NORM_FEED: "post_attention_layernorm",
}
CPU = torch.device("cpu")
Filled = tuple[Part, int, NDArray[np.generic]]


class NativeStepModel:
    """A loaded model, one step at a time; see `engine.step_model.StepModel`.

    Args:
        checkpoint: The weights.
        shape: Sizes and precision, as `native_shape` gives them.
        threads: Torch's threads for what it does beside the native calls. It is little, and
            torch's threads, when there are several, take the cores from the native ones while
            they wait for work (measured: 3 to 20 times slower on a busy machine).

    Raises:
        Unsupported: The native library is not there, or does not take this shape.
        OutOfMemory: No memory for the weights.
    """

    def __init__(self, checkpoint: Checkpoint, shape: NativeShape, threads: int = 1) -> None:
        config = checkpoint.config
        self._threads = threads
        self._geometry = Geometry(
            slots=shape.slots,
            positions=shape.positions,
            step_samples=config.step_samples,
            tail_samples=config.vocos.hop_length,
            context_steps=config.context_steps,
        )
        self._step = NativeStep(shape)
        for part, layer, values in _parts(checkpoint):
            self._step.fill(part, values, layer=layer)
        assert self._step.ready
        make = native_stages(threads=shape.threads, int8=shape.mode == "int8", path=shape.path)
        self._synthesizer = Synthesizer(checkpoint, CPU, make)
        self._renderer = Renderer(self._synthesizer)
        self._speech: set[int] = set()

    @property
    def geometry(self) -> Geometry:
        """The fixed numbers; may be read from any thread."""
        return self._geometry

    @property
    def path(self) -> str:
        """The instruction set in use."""
        return self._step.path

    def start(self, slot: int, job: Job, attempt: int) -> None:
        """Put a job into a free slot.

        Raises:
            OutOfMemory: No memory for one more job now.
        """
        self._step.start(slot, job, attempt)
        self._renderer.open(slot)
        if job.kind == "speech":
            self._speech.add(slot)

    def step(self, prefill: Sequence[Prefill], decode: Sequence[int]) -> Sequence[Outcome]:
        """Run one step over any mix of rows; see `StepModel.step`.

        Raises:
            OutOfMemory: Not with these rows.
        """
        result = self._step.step(prefill, decode)
        hidden = torch.from_numpy(result.hidden)
        for row, outcome in zip(hidden, result.outcomes, strict=True):
            if outcome.kind == "token" and outcome.slot in self._speech:
                self._renderer.feed(outcome.slot, row.clone())
        return result.outcomes

    def render(self, windows: Sequence[Window]) -> Sequence[NDArray[np.float32]]:
        """The sound of windows of several jobs; see `StepModel.render`.

        Raises:
            OutOfMemory: Not with these windows.
        """
        if torch.get_num_threads() != self._threads:
            torch.set_num_threads(self._threads)
        with guarded("rendering sound"):
            return self._renderer.render(windows)

    def text(self, slot: int) -> list[int]:
        """The text ids that a job of kind "text" has drawn so far, without the end token."""
        return self._step.text(slot)

    def stop(self, slot: int) -> None:
        """Free a slot and all that was kept for its job."""
        self._step.stop(slot)
        self._renderer.close(slot)
        self._speech.discard(slot)

    def memory_bytes(self) -> int:
        """What weights and caches occupy now."""
        return self._step.weight_bytes + self._step.cache_bytes() + self._synthesizer.nbytes

    def close(self) -> None:
        """Give everything back; nothing is called afterwards."""
        self._step.close()
        del self._synthesizer, self._renderer


def _parts(checkpoint: Checkpoint) -> Iterator[Filled]:
    """All weights as float32, one matrix at a time: part, layer or codebook, values."""
    gpt = checkpoint.config.gpt
    for layer in range(gpt.num_hidden_layers):
        for part, name in LAYER_PARTS.items():
            yield part, layer, _read(checkpoint, layout.GPT, f"layers.{layer}.{name}.weight")
    yield Part.NORM_LAST, 0, _read(checkpoint, layout.GPT, "norm.weight")
    exponents = torch.arange(0, gpt.head_size, 2).float() / gpt.head_size
    yield Part.ROPE, 0, (1.0 / gpt.rope_theta**exponents).numpy()
    yield Part.EMBED_TEXT, 0, _read(checkpoint, layout.EMBED, "emb_text.weight")
    yield Part.HEAD_TEXT, 0, folded_head(checkpoint, "head_text").numpy()
    for book in range(gpt.num_vq):
        yield Part.EMBED_CODE, book, _read(checkpoint, layout.EMBED, f"emb_code.{book}.weight")
        yield Part.HEAD_CODE, book, folded_head(checkpoint, f"head_code.{book}").numpy()


def _read(checkpoint: Checkpoint, file: str, name: str) -> NDArray[np.generic]:
    values: NDArray[np.generic] = checkpoint.tensor(file, name, torch.float32).numpy()
    return values
