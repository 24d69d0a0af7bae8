"""Hidden states of several jobs → their sound, piece by piece, each frame computed once.

What a window asks for beyond the frames that are complete is made by looking ahead: the stream
goes on from a copy of its state as if the utterance ended here. Where such provisional sound was
given away, the next piece is faded in over the provisional sound's own continuation, so pieces
join without a click.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.decoder import decoder_stages, frames_of
from ollama_tts.backends.chattts.linear import Maker, dense_product
from ollama_tts.backends.chattts.stream_conv import Frames
from ollama_tts.backends.chattts.vocos import Head, Overlap, total_nbytes, vocos_stages
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Window

FADE_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where one stream's convolutions and overlap stand."""

    convs: tuple[Tensor, ...]
    overlap: Overlap


class Synthesizer:
    """Decoder and vocoder of one model on one device, in float32.

    `make` makes their products, by default in torch and float32 too.
    """

    def __init__(
        self, checkpoint: Checkpoint, device: torch.device, make: Maker = dense_product
    ) -> None:
        self._width = checkpoint.config.gpt.hidden_size
        self._stages = [
            *decoder_stages(checkpoint, device, make),
            *vocos_stages(checkpoint, device, make),
        ]
        self._head = Head(checkpoint, device, make)
        self._device = device

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return total_nbytes(self._stages) + self._head.nbytes

    def no_hidden(self) -> Tensor:
        """No hidden states: float32 [0, H]."""
        return torch.empty(0, self._width, device=self._device)

    def begin(self) -> StreamState:
        """A new stream."""
        like = torch.empty(0, device=self._device)
        convs = tuple(stage.conv.begin(like) for stage in self._stages)
        return StreamState(convs, self._head.begin())

    def push(
        self, hidden: Sequence[Tensor], states: Sequence[StreamState], last: Sequence[bool]
    ) -> list[tuple[Tensor, StreamState]]:
        """Feed each stream its next hidden states float32 [n, H] (n may be 0).

        Returns for each stream the samples that are complete now, float32 [m], and its new
        state. With `last` the stream ends and all its samples come.
        """
        counts = tuple(2 * len(h) for h in hidden)
        frames = Frames(frames_of(torch.cat(list(hidden))), counts, tuple(last))
        kept: list[list[Tensor]] = []
        for index, stage in enumerate(self._stages):
            frames, states_now = stage.conv(frames, [s.convs[index] for s in states])
            kept.append(states_now)
            if stage.after is not None:
                frames = frames.with_rows(stage.after(frames.rows))
        windows = torch.split(self._head.windows(frames.rows), list(frames.counts))
        made = []
        for i, (window, state) in enumerate(zip(windows, states, strict=True)):
            samples, overlap = self._head.add(window, state.overlap, last=last[i])
            made.append((samples, StreamState(tuple(stage[i] for stage in kept), overlap)))
        return made

    def whole(self, hidden: Tensor) -> Tensor:
        """All sound of hidden states float32 [n, H] at once: float32 [(2n - 1) hop]."""
        return self.push([hidden], [self.begin()], [True])[0][0]


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
        advanced = self._advance(windows, slots)
        ahead = self._look_ahead(windows, advanced)
        made = [
            _cut(window, slot, sound)
            for window, slot, sound in zip(windows, advanced, ahead, strict=True)
        ]
        for window, (_, slot) in zip(windows, made, strict=True):
            self._slots[window.slot] = slot
        return [np.array(samples.cpu().numpy(), np.float32) for samples, _ in made]

    def _advance(self, windows: Sequence[Window], slots: Sequence[_Slot]) -> list[_Slot]:
        """Feed what is new; the given slots are left as they are."""
        fresh = [
            torch.stack(s.hidden[: w.stop - s.fed]) if w.stop > s.fed else self._none
            for s, w in zip(slots, windows, strict=True)
        ]
        results = self._synthesizer.push(
            fresh, [s.state for s in slots], [w.final for w in windows]
        )
        return [
            replace(
                s,
                hidden=s.hidden[w.stop - s.fed :],
                state=state,
                fed=w.stop,
                ready=torch.cat([s.ready, sound]),
            )
            for s, w, (sound, state) in zip(slots, windows, results, strict=True)
        ]

    def _look_ahead(self, windows: Sequence[Window], slots: Sequence[_Slot]) -> list[Tensor]:
        """Provisional sound after each slot's finished samples; empty where none is wanted."""
        wanting = [
            i for i, (w, s) in enumerate(zip(windows, slots, strict=True))
            if not w.final and w.keep_stop > s.ready_start + len(s.ready)
        ]  # fmt: skip
        found = [s.ready.new_empty(0) for s in slots]
        if wanting:
            chosen = [slots[i] for i in wanting]
            results = self._synthesizer.push(
                [self._none] * len(chosen), [s.state for s in chosen], [True] * len(chosen)
            )
            for i, (sound, _) in zip(wanting, results, strict=True):
                found[i] = sound
        return found


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
