"""The voice in the wheel: text in, samples out. The only place that knows the package.

`N` samples. Sound is float32 [N] mono at 24 kHz, about -26 LUFS, peaks under 0.5.
"""

import importlib.metadata
import re
from collections.abc import Iterator

import numpy as np
import onnxruntime
from hibari import Hibari
from numpy.typing import NDArray

from ollama_tts.backends.hibari.text import speakable
from ollama_tts.errors import LoadFailed

SAMPLE_RATE_HZ = 24_000
LONGEST_PHONEMES = 400

_SPOKEN = re.compile(r"[^\W\d_]")
_BREAK = re.compile(r"(?<=[,;:—.!?…])\s+|\s+")


class EnglishVoice:
    """The package's voice `heart`. One caller at a time.

    `threads`: of the network; waiting threads sleep instead of spinning.

    Raises:
        LoadFailed: The installed package is not one that this code was run with.
    """

    def __init__(self, threads: int = 1) -> None:
        try:
            self._package = Hibari(voice="heart", threads=1)
            if threads > 1:
                self._package.sess = _session(self._package.model_path, threads)
            self._self_test()
        except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
            version = importlib.metadata.version("hibari-tts")
            raise LoadFailed(f"hibari-tts {version} does not work here: {error!r}") from error

    def _self_test(self) -> None:
        """Say a word that is in no lexicon: it loads every table, and proves that sound comes."""
        pieces = list(self.say("Ready, zyxqv, 7.", speed=1.0, seed=0))
        if not pieces or not float(np.abs(np.concatenate(pieces)).max()) > 0.01:
            raise ValueError("the self-test gave no sound")

    def say(self, text: str, *, speed: float, seed: int) -> Iterator[NDArray[np.float32]]:
        """The sound of `text`, float32 [N] for each of its sentences, as they are made.

        Nothing comes if it holds nothing but punctuation. `speed` 0.5 to 2.0; the same `seed`
        (any integer) gives the same bytes.

        Raises:
            UnspeakableText: It holds letters that are not English.
        """
        rng = np.random.default_rng(seed % 2**64)
        for phonemes in self._package.phonemize(speakable(text)):
            for part in _within(phonemes, LONGEST_PHONEMES):
                if _SPOKEN.search(part):
                    ids = self._package.ids(part)
                    yield np.asarray(self._package.from_ids(ids, speed, rng), np.float32)


def _within(phonemes: str, limit: int) -> Iterator[str]:
    """`phonemes` in parts of at most `limit`, cut at clauses where there are, else at words."""
    while len(phonemes) > limit:
        cuts = list(_BREAK.finditer(phonemes, limit // 4, limit))
        clause = [cut for cut in cuts if phonemes[cut.start() - 1] in ",;:—.!?…"]
        end = (clause or cuts)[-1].end() if cuts else limit
        yield phonemes[:end].strip()
        phonemes = phonemes[end:]
    yield phonemes


def _session(path: str, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
