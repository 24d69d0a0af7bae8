"""Hidden states of several jobs → their sound, piece by piece, each frame computed once.

What a window asks for beyond the frames that are complete is made by looking ahead: the stream
goes on from a copy of its state as if the utterance ended here. Where such provisional sound was
given away, the next piece is faded in over the provisional sound's own continuation, so pieces
join without a click.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.decoder import decoder_stages, frames_of
from ollama_tts.backends.chattts.stages import Frames, Stages, StageWeights
from ollama_tts.backends.chattts.stream_conv import TorchStages
from ollama_tts.backends.chattts.vocos import Head, Overlap, vocos_stages
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Window

FADE_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where one stream's stages and overlap stand."""

    stages: tuple[Tensor, ...]
    overlap: Overlap


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push made of one stream.

    `sound` float32 [m]: the samples that are complete now. `state`: the stream afterwards.
    `ahead` float32 [k]: the samples that would come next if it ended here; empty if not wanted.
    """

    sound: Tensor
    state: StreamState
    ahead: Tensor


class Synthesizer:
    """Decoder and vocoder of one model on one device.

    `make` makes their stages, by default in torch and float32.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        device: torch.device,
        make: Callable[[Sequence[StageWeights]], Stages] = TorchStages,
    ) -> None:
        config = checkpoint.config
        self._width = config.gpt.hidden_size
        self._context, self._hop = config.context_frames, config.vocos.hop_length
        self._stages = make(
            [*decoder_stages(checkpoint, device), *vocos_stages(checkpoint, device)]
        )
        self._head = Head(checkpoint, device)
        self._device = device

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._stages.nbytes + self._head.nbytes

    def no_hidden(self) -> Tensor:
        """No hidden states: float32 [0, H]."""
        return torch.empty(0, self._width, device=self._device)

    def begin(self) -> StreamState:
        """A new stream."""
        return StreamState(self._stages.begin(), self._head.begin())

    def complete(self, tokens: int) -> int:
        """How many samples are complete after `tokens` hidden states, if more may come."""
        return max(0, 2 * tokens - self._context) * self._hop

    def push(
        self,
        hidden: Sequence[Tensor],
        states: Sequence[StreamState],
        last: Sequence[bool],
        ahead: Sequence[bool],
    ) -> list[Pushed]:
        """Feed each stream its next hidden states float32 [n, H] (n may be 0).

        With `last` the stream ends and all its samples come; with `ahead` it looks ahead.
        """
        counts = tuple(2 * len(h) for h in hidden)
        frames = Frames(frames_of(torch.cat(list(hidden))), counts, tuple(last))
        rows, kept = self._stages.push(frames, [s.stages for s in states], ahead)
        windows = list(torch.split(self._head.windows(torch.cat(rows)), [len(r) for r in rows]))
        further = iter(windows[len(hidden) :])
        made = []
        for i, (state, stages) in enumerate(zip(states, kept, strict=True)):
            sound, overlap = self._head.add(windows[i], state.overlap, last=last[i])
            provisional = sound[:0]
            if ahead[i]:
                provisional, _ = self._head.add(next(further), overlap, last=True)
            made.append(Pushed(sound, StreamState(stages, overlap), provisional))
        return made

    def whole(self, hidden: Tensor) -> Tensor:
        """All sound of hidden states float32 [n, H] at once: float32 [(2n - 1) hop]."""
        return self.push([hidden], [self.begin()], [True], [False])[0].sound


@dataclass(slots=True)
class _Slot:
    """One job's hidden states and sound so far.

    `fed` hidden states went into `state`; `hidden` are those after them. `ready` are finished
    samples from `ready_start` on that were not asked for yet; `tail` continues provisional sound
    that was.
    """

    hidden: list[Tensor]
    state: StreamState
    fed: int
    ready: Tensor
    ready_start: int
    tail: Tensor | None


class Renderer:
    """Keeps each job's hidden states and renders windows of them."""

    def __init__(self, synthesizer: Synthesizer) -> None:
        self._synthesizer = synthesizer
        self._slots: dict[int, _Slot] = {}
        self._none = synthesizer.no_hidden()

    def open(self, slot: int) -> None:
        """A new job."""
        nothing = self._none.new_empty(0)
        self._slots[slot] = _Slot([], self._synthesizer.begin(), 0, nothing, 0, None)

    def feed(self, slot: int, hidden: Tensor) -> None:
        """One more token's hidden state, float32 [H] of its own memory."""
        self._slots[slot].hidden.append(hidden)

    def close(self, slot: int) -> None:
        """The job is over."""
        self._slots.pop(slot, None)

    @torch.inference_mode()
    def render(self, windows: Sequence[Window]) -> list[NDArray[np.float32]]:
        """The samples [keep_start, keep_stop) of each window, float32, made together."""
        slots = [self._slots[w.slot] for w in windows]
        fresh = [
            torch.stack(s.hidden[: w.stop - s.fed]) if w.stop > s.fed else self._none
            for s, w in zip(slots, windows, strict=True)
        ]
        pushed = self._synthesizer.push(
            fresh,
            [s.state for s in slots],
            [w.final for w in windows],
            [not w.final and w.keep_stop > self._synthesizer.complete(w.stop) for w in windows],
        )
        made = [
            _cut(window, _advanced(slot, window, result), result.ahead)
            for window, slot, result in zip(windows, slots, pushed, strict=True)
        ]
        for window, (_, slot) in zip(windows, made, strict=True):
            self._slots[window.slot] = slot
        return [np.array(samples.cpu().numpy(), np.float32) for samples, _ in made]


def _advanced(slot: _Slot, window: Window, pushed: Pushed) -> _Slot:
    """The slot after a push; the given one is left as it is."""
    return replace(
        slot,
        hidden=slot.hidden[window.stop - slot.fed :],
        state=pushed.state,
        fed=window.stop,
        ready=torch.cat([slot.ready, pushed.sound]),
    )


def _cut(window: Window, slot: _Slot, ahead: Tensor) -> tuple[Tensor, _Slot]:
    """The window's samples, faded in over what was promised, and the slot afterwards."""
    sound = torch.cat([slot.ready, ahead])
    start, stop = window.keep_start - slot.ready_start, window.keep_stop - slot.ready_start
    samples = _faded(slot.tail, sound[start:stop])
    finished = len(slot.ready)
    tail = sound[stop : stop + FADE_SAMPLES] if stop > finished else None
    drop = min(stop, finished)
    kept = replace(slot, ready=slot.ready[drop:], ready_start=slot.ready_start + drop, tail=tail)
    return samples, kept


def _faded(tail: Tensor | None, samples: Tensor) -> Tensor:
    """`samples` with `tail` running out over their beginning."""
    if tail is None:
        return samples
    length = min(len(tail), len(samples))
    rising = torch.linspace(0, 1, length + 2, device=samples.device)[1:-1]
    blended = torch.lerp(tail[:length], samples[:length], rising)
    return torch.cat([blended, samples[length:]])
