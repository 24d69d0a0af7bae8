"""What /metrics says of work that is still held."""

import asyncio
import time

import httpx
from prometheus_client.parser import text_string_to_metric_families

HELD = ("ollama_tts_queue_depth", "ollama_tts_utterances_active")


def values(text: str) -> dict[str, float]:
    """Every sample of an exposition by its name, labels summed."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


async def gauges(http: httpx.AsyncClient, patience_s: float = 10.0) -> dict[str, float]:
    """The gauges of held work that are not 0, once they are, or when patience has run out."""
    until_s = time.monotonic() + patience_s
    while True:
        told = values((await http.get("/metrics")).text)
        held = {name: told[name] for name in HELD if told.get(name)}
        if not held or time.monotonic() > until_s:
            return held
        await asyncio.sleep(0.05)
