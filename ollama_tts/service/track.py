"""`Track`: the sound of one answer, from a runner's pieces to the bytes of one file.

denoise → speed → gain → stitch (pauses, fades) → resample → limit → encode;
everything streams, and the bytes do not depend on how the sound was cut into pieces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.denoise import Denoiser
from ollama_tts.audio.encode import make_encoder, supported_rate_hz
from ollama_tts.audio.limit import soft_limit
from ollama_tts.audio.resample import Resampler
from ollama_tts.audio.speed import TimeStretch
from ollama_tts.audio.stitch import Stitcher, pause_ms
from ollama_tts.backends.base import Traits
from ollama_tts.errors import TooLarge
from ollama_tts.options import SpeechOptions
from ollama_tts.service.events import AudioFormat
from ollama_tts.text.account import Pause


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Bytes of the file, and how much sound went in for them."""

    data: bytes
    start_s: float
    duration_s: float


WHOLE_BYTES = 64 * 1024 * 1024
"""Most 16-bit sound of an answer that is made in one piece: it is held in memory."""


class Track:
    """Writes one answer's file while its sound is being made."""

    def __init__(
        self, traits: Traits, options: SpeechOptions, *, stretch: float, whole: bool
    ) -> None:
        self._in_hz = traits.sample_rate_hz
        out_hz = supported_rate_hz(options.audio_format, options.sample_rate or self._in_hz)
        self._rate = stretch * (1.0 if traits.native_speed else options.speed)
        self._pause_ms = options.pause_ms
        self._stitcher = Stitcher(self._in_hz, gain_db=traits.gain_db + options.gain_db)
        self._resampler = Resampler(self._in_hz, out_hz)
        self._encoder = make_encoder(options.audio_format, out_hz, whole=whole)
        self._stretch: TimeStretch | None = None
        self._denoiser: Denoiser | None = None
        self._out_samples = 0
        self._last_pause: Pause = "none"
        self._most_samples = WHOLE_BYTES // 2 if whole else None
        self.audio = AudioFormat(options.audio_format, self._encoder.mime_type, out_hz)

    @property
    def duration_s(self) -> float:
        """Length of the sound so far, in seconds."""
        return self._out_samples / self.audio.sample_rate_hz

    def begin(self, pause: Pause, *, denoise: bool = False) -> None:
        """An utterance begins; `pause` is the kind of boundary that will follow it."""
        self._denoiser = Denoiser(self._in_hz) if denoise else None
        self._stitcher.begin(pause_ms(self._last_pause, self._pause_ms))
        self._stretch = TimeStretch(self._rate, self._in_hz) if self._rate != 1.0 else None
        self._last_pause = pause

    def feed(self, samples: NDArray[np.float32]) -> Written:
        """Take float32 [N] at the voice's rate; give what can be written now."""
        clean = self._denoiser.feed(samples) if self._denoiser else samples
        stretched = self._stretch.feed(clean) if self._stretch else clean
        return self._write(self._stitcher.feed(stretched))

    def end(self) -> Written:
        """The utterance is over."""
        rest = self._denoiser.finish() if self._denoiser else np.zeros(0, np.float32)
        if self._stretch:
            rest = np.concatenate([self._stretch.feed(rest), self._stretch.finish()])
        head = self._stitcher.feed(rest)
        return self._write(np.concatenate([head, self._stitcher.end()]))

    def finish(self) -> Written:
        """The answer is over: the file's last bytes."""
        start_s = self.duration_s
        last = self._resampler.finish()
        self._out_samples += len(last)
        data = self._encoder.feed(soft_limit(last)) + self._encoder.finish()
        return Written(data, start_s, self.duration_s - start_s)

    def _write(self, samples: NDArray[np.float32]) -> Written:
        start_s = self.duration_s
        resampled = self._resampler.feed(samples)
        self._out_samples += len(resampled)
        if self._most_samples is not None and self._out_samples > self._most_samples:
            minutes = self._most_samples // self.audio.sample_rate_hz // 60
            raise TooLarge(f"an answer in one piece holds at most {minutes} minutes: stream it")
        data = self._encoder.feed(soft_limit(resampled)) if len(resampled) else b""
        return Written(data, start_s, self.duration_s - start_s)
