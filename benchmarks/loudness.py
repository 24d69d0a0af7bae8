"""How loud each voice of a model is: integrated loudness by ITU-R BS.1770, in LUFS.

    python benchmarks/loudness.py hibari kokoro [--voice V] [--option K=V]

Speaks a few sentences with each voice at `gain_db` 0 and tells what is missing to the common
level, as the line `PARAMETER gain_db` of a Modelfile would have it. Needs the extra `test`
(pyloudnorm). Voices of the program itself should be within 1 LU.
"""

import argparse
import asyncio

import numpy as np
import pyloudnorm

from ollama_tts.backends.base import Voice
from ollama_tts.config import Settings
from ollama_tts.node import Node
from ollama_tts.options import LoadOptions
from ollama_tts.service.events import AudioChunk, SpeechRequest, SpeechStarted

LEVEL_LUFS = -20.0
TEXTS = {
    "en": "The quick brown fox jumps over the lazy dog. Who would have thought that? Nobody did!",
    "zh": "今天的天气很好，我们一起去公园散步吧。你觉得怎么样？晚上再一起吃饭！",
    "ja": "今日はとても良い天気ですね。一緒に公園へ行きましょう。どうですか？",
}


async def loudness_lufs(node: Node, model: str, voice: Voice, options: dict[str, object]) -> float:
    """What a listener hears of one voice."""
    given = {"voice": voice.id, "audio_format": "pcm", "cache": False, **options}
    request = SpeechRequest(model, TEXTS[voice.language], {"seed": 1, **given})
    data, rate_hz = b"", 0
    async for event in node.speech.speak(request):
        if isinstance(event, AudioChunk):
            data += event.data
        elif isinstance(event, SpeechStarted):
            rate_hz = event.audio.sample_rate_hz
    samples = np.frombuffer(data, "<i2") / 32768
    return float(pyloudnorm.Meter(rate_hz).integrated_loudness(samples))


async def measure(models: list[str], voice: str | None, options: dict[str, object]) -> None:
    """One line a voice."""
    async with Node(Settings.from_env()) as node:
        for model in models:
            for each in await voices(node, model):
                if voice in {None, each.id}:
                    heard = await loudness_lufs(node, model, each, options)
                    missing = LEVEL_LUFS - heard
                    print(
                        f"{model:10} {each.id:16} {heard:7.1f} LUFS {missing:+6.1f} dB", flush=True
                    )


async def voices(node: Node, model: str) -> tuple[Voice, ...]:
    """The voices of a model, which is loaded for it."""
    async with node.scheduler.lease(node.models.resolve(model), LoadOptions()) as lease:
        return lease.runner.traits.voices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--voice")
    parser.add_argument("--option", action="append", default=[], metavar="K=V")
    arguments = parser.parse_args()
    options: dict[str, object] = dict(text.split("=", 1) for text in arguments.option)
    asyncio.run(measure(arguments.models, arguments.voice, options))


if __name__ == "__main__":
    main()
