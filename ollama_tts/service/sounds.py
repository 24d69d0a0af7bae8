"""`SoundService`: what lies in the audio cache, forgetting it, and speaking texts into it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ollama_tts.cache import Extent, SoundCache
from ollama_tts.errors import Failed, InvalidRequest, Unsupported
from ollama_tts.protocol.sounds import CacheResponse, ForgetRequest, KeptSounds, WarmRequest
from ollama_tts.service.events import Progress, SpeechDone, SpeechEvent, SpeechRequest
from ollama_tts.store.model import LocalModel

WARMING_PRIORITY = -5
"""Behind who listens now, unless the request says otherwise."""


class SoundService:
    """The audio cache of a node, as a user sees it. `find` gives the model of a name."""

    def __init__(
        self,
        cache: SoundCache | None,
        find: Callable[[str], LocalModel],
        speak: Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]],
    ) -> None:
        self._cache = cache
        self._find = find
        self._speak = speak

    async def state(self) -> CacheResponse:
        """How much is kept, and how much may be."""
        cache = self._cache
        if cache is None:
            return CacheResponse(memory=KeptSounds(), disk=KeptSounds())
        return self._told(cache.memory_extent, await cache.disk_extent() or Extent())

    async def forget(self, request: ForgetRequest) -> CacheResponse:
        """Forget the sounds of one model, or all; gives what that freed.

        Raises:
            ModelNotFound: No such model.
        """
        digest = self._find(request.asked).digest.hex if request.asked else None
        if self._cache is None:
            return await self.state()
        return self._told(*await self._cache.clear(digest))

    def warm(self, request: WarmRequest, client: str) -> AsyncGenerator[Progress, None]:
        """Speak each text into the cache; a step a text, a count, then `success`.

        A text that cannot be spoken is named in a step and passed over.

        Raises:
            InvalidRequest: No model, no texts, or options that cannot be meant.
            ModelNotFound: No such model.
            Failed: Some texts could not be spoken.
        """
        if self._cache is None:
            raise Unsupported("there is no audio cache to warm (OLLAMA_TTS_CACHE_BYTES)")
        texts = [text for text in request.prompts if text.strip()]
        if not request.asked or not texts:
            raise InvalidRequest("'model' and 'prompts' (texts to speak) are required")
        self._find(request.asked)
        return self._warm(request, texts, client)

    async def _warm(
        self, request: WarmRequest, texts: list[str], client: str
    ) -> AsyncGenerator[Progress, None]:
        spoken = hits = failed = 0
        for number, text in enumerate(texts):
            yield _step(number, len(texts))
            try:
                done = await self._speak_once(request, text, client)
            except InvalidRequest as error:
                failed += 1
                yield Progress(f"text {number + 1}: {error}")
                continue
            spoken += done.utterances
            hits += done.cache_hits
        yield _step(len(texts), len(texts))
        yield Progress(f"{spoken - hits} utterances spoken, {hits} were there")
        if failed:
            raise Failed(f"{failed} of {len(texts)} texts could not be spoken")
        yield Progress("success")

    async def _speak_once(self, request: WarmRequest, text: str, client: str) -> SpeechDone:
        asked = SpeechRequest(
            request.asked,
            text,
            {"priority": WARMING_PRIORITY, **request.options, "cache": True, "audio_format": "pcm"},
            system=request.system or None,
            client=client,
            surface="warm",
        )
        last: SpeechEvent | None = None
        async with aclosing(self._speak(asked)) as events:
            async for event in events:
                last = event
                await asyncio.sleep(0)
        assert isinstance(last, SpeechDone)
        return last

    def _told(self, memory: Extent, disk: Extent) -> CacheResponse:
        assert self._cache is not None
        return CacheResponse(
            memory=_kept(memory, self._cache.memory_budget_bytes),
            disk=_kept(disk, self._cache.disk_budget_bytes or 0),
        )


def _kept(extent: Extent, budget_bytes: int) -> KeptSounds:
    return KeptSounds(sounds=extent.sounds, size=extent.size_bytes, budget=budget_bytes)


def _step(done: int, total: int) -> Progress:
    return Progress("warming", digest="warming", total=total, completed=done)
