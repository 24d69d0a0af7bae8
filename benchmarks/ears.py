"""Every sentence of the small checkpoint that speaks, heard by Whisper, said in every way.

    OMP_WAIT_POLICY=PASSIVE python -m benchmarks.ears [--only torch-bf16,low] [--every 1] [--json]

Ways: each backend and precision; then, with what runs by default on a CPU (native, int8), each
`latency`, and 1, 2, 4, 16 and 32 utterances at once. Of each way: the sentences, the words
(English) or characters (Chinese) in them, how many came out wrong; and how many sounds were heard
for the first time: samples equal to the last bit are listened to once. Lengths, pitch and the end
by itself are checked too. `upstream` is the ChatTTS package itself.
"""

import argparse
import asyncio
import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ollama_tts.backends.chattts.weights import Checkpoint, directory
from tests.backends.chattts.conftest import MINI, Sentence, sentences
from tests.backends.chattts.test_speaks import TOGETHER, heard_wrong, spoken
from tests.support.whisper import Ear, spoken_characters, spoken_words


@dataclass(frozen=True)
class Way:
    """How it is said: options of the load, of the request, and how many at once."""

    options: dict[str, object] = field(default_factory=dict)
    asked: dict[str, object] = field(default_factory=dict)
    together: int = TOGETHER


def of(backend: str, quantization: str) -> Way:
    return Way({"backend": backend, "quantization": quantization})


WAYS: dict[str, Way] = {
    "upstream": Way({"backend": "reference"}, together=1),
    **{f"torch-{q}": of("torch", q) for q in ("fp32", "fp16", "bf16", "int8", "int4")},
    **{f"native-{q}": of("native", q) for q in ("fp32", "bf16", "int8")},
    "low": Way(asked={"latency": "low"}),
    "exact": Way(asked={"latency": "exact"}),
    **{f"batch-{n}": Way(together=n) for n in (1, 2, 4, 16, 32)},
}


@dataclass(frozen=True)
class Row:
    way: str
    sentences: int
    units: int
    wrong: int
    fresh: int
    what: list[str]


class Listener:
    """Hears each sound once."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._heard: dict[tuple[str, bytes], list[str]] = {}

    def hear(
        self, way: str, said: Sequence[Sentence], sounds: Sequence[NDArray[np.float32]]
    ) -> Row:
        """What came out wrong."""
        wrong, before = list[str](), len(self._heard)
        for sentence, sound in zip(said, sounds, strict=True):
            key = sentence.id, hashlib.sha256(sound.tobytes()).digest()
            if key not in self._heard:
                self._heard[key] = heard_wrong(self._ear, [sentence], [sound])
            wrong += self._heard[key]
        units = sum(len(_units(sentence)) for sentence in said)
        return Row(way, len(said), units, len(wrong), len(self._heard) - before, wrong)


def _units(sentence: Sentence) -> list[str]:
    count = spoken_words if sentence.language == "en" else spoken_characters
    return count(sentence.transcript)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--every", type=int, default=1, help="listen to every n-th sentence")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    mini, said = Checkpoint(directory(MINI)), sentences()[:: options.every]
    with tempfile.TemporaryDirectory() as scratch:
        listener, rows = Listener(Ear(Path(scratch))), list[Row]()
        for name in options.only.split(","):
            way = WAYS[name]
            sounds = asyncio.run(
                spoken(mini, said, options=way.options, asked=way.asked, together=way.together)
            )
            rows.append(listener.hear(name, said, sounds))
            if not options.json:
                print(*asdict(rows[-1]).items(), flush=True)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
