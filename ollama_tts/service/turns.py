"""Turns of a conversation count as requests, each for the caller whose it is."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ollama_tts.errors import TooMany
from ollama_tts.metrics import Metrics
from ollama_tts.service.events import SpeechEvent, SpeechRequest
from ollama_tts.service.rates import Rates

Speak = Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]]


def counting_turns(speak: Speak, rates: Rates, metrics: Metrics) -> Speak:
    """`speak`, for callers who have not asked too often; who has fails with `TooMany`."""

    async def turn(request: SpeechRequest) -> AsyncGenerator[SpeechEvent, None]:
        try:
            rates.take(request.client)
        except TooMany:
            metrics.request(request.surface, "rejected")
            raise
        async with aclosing(speak(request)) as events:
            async for event in events:
                yield event

    return turn
