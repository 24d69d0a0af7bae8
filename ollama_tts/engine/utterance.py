"""`Utterance`: one stretch of text to speak, and `Piece`: the sound of a part of it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ollama_tts.options import SpeechOptions

Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance of one request; nothing of it is shared with any other.

    `text` is prepared text in `language`, with control marks in brackets where the voice knows
    them. `seed` fixes the sound (never None: a request without a seed draws one). `index` is the
    utterance's place in its request. `request_id` names the request in logs; the sound does not
    depend on it. `style` is the request's system text, a hint for voices that know one.
    `deadline_s` is a point on the monotonic clock, or None.
    """

    text: str
    language: str
    options: SpeechOptions
    seed: int
    index: int = 0
    request_id: str = ""
    style: str = ""
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some sound of an utterance: `samples` float32 [N] mono at the runner's rate.

    `steps` counts the codec steps (voices without a codec: 20 ms frames) behind these samples.
    `finish` is None except on the last piece.
    """

    samples: NDArray[np.float32]
    steps: int
    finish: Finish | None = None
