"""`SoundService`: what lies in the audio cache, forgetting it, and speaking texts into it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace

from ollama_tts.cache import Extent, SoundCache
from ollama_tts.errors import Busy, Failed, InvalidRequest, Unsupported
from ollama_tts.names import ModelName
from ollama_tts.protocol.sounds import CacheResponse, ForgetRequest, KeptSounds, WarmRequest
from ollama_tts.service.events import Progress, SpeechDone, SpeechEvent, SpeechRequest
from ollama_tts.store.model import LocalModel

WARMING_PRIORITY = -5
"""Behind who listens now, unless the request says otherwise."""


class SoundService:
    """The audio cache of a node, as a user sees it.

    `voices` gives the models that may speak a request for a name with these options: more than
    one where its requests are split.
    """

    def __init__(
        self,
        cache: SoundCache | None,
        voices: Callable[[str, Mapping[str, object]], list[LocalModel]],
        speak: Callable[[SpeechRequest], AsyncGenerator[SpeechEvent, None]],
    ) -> None:
        self._cache = cache
        self._voices = voices
        self._speak = speak
        self._draining = False

    def drain(self) -> None:
        """Let who warms end after the present text: the server is about to stop."""
        self._draining = True

    async def state(self) -> CacheResponse:
        """How much is kept, and how much may be."""
        cache = self._cache
        if cache is None:
            return CacheResponse(memory=KeptSounds(), disk=KeptSounds())
        return self._told(cache.memory_extent, await cache.disk_extent() or Extent())

    async def forget(self, request: ForgetRequest | None) -> CacheResponse:
        """Forget the sounds of one model, or all where `request` is None; gives what that freed.

        Of a model whose requests are split those of all models that speak for it.

        Raises:
            InvalidRequest: The request names no model.
            ModelNotFound: No such model.
        """
        if request is not None and not request.asked:
            raise InvalidRequest("'model' is required (without a body all is forgotten)")
        models = [None] if request is None else self._digests(request.asked)
        if self._cache is None:
            return await self.state()
        freed = [await self._cache.clear(model) for model in models]
        return self._told(_sum(memory for memory, _ in freed), _sum(disk for _, disk in freed))

    def _digests(self, asked: str) -> list[str | None]:
        return [model.digest.hex for model in self._voices(asked, {})]

    def warm(self, request: WarmRequest, client: str) -> AsyncGenerator[Progress, None]:
        """Speak each text into the cache; a step a text, a count, then `success`.

        By every model that may speak it. A text that cannot be spoken is named by its place in
        `prompts` in a step, and passed over, as are texts without a character.

        Raises:
            InvalidRequest: No model, no texts, or options that cannot be meant.
            ModelNotFound: No such model.
            Busy: The server is about to stop.
            Failed: Some texts could not be spoken.
        """
        if self._cache is None:
            raise Unsupported("there is no audio cache to warm (OLLAMA_TTS_CACHE_BYTES)")
        texts = [(place, text) for place, text in enumerate(request.prompts, 1) if text.strip()]
        if not request.asked or not texts:
            raise InvalidRequest("'model' and 'prompts' (texts to speak) are required")
        options = {name.lower(): value for name, value in request.options.items()}
        if options.get("cache") is False:
            raise InvalidRequest("option 'cache' cannot be false where the cache is to be filled")
        voices = [model.name for model in self._voices(request.asked, options)]
        options.pop("split", None)
        return self._warm(texts, [self._asking(request, options, name, client) for name in voices])

    async def _warm(
        self, texts: list[tuple[int, str]], asking: list[SpeechRequest]
    ) -> AsyncGenerator[Progress, None]:
        spoken = hits = 0
        failed: set[int] = set()
        for number, (place, text) in enumerate(texts):
            yield _step(number, len(texts))
            if self._draining:
                raise Busy(f"the server is shutting down; {number} of {len(texts)} texts are done")
            for asked in asking:
                try:
                    done = await self._speak_once(replace(asked, text=text))
                except InvalidRequest as error:
                    failed.add(place)
                    by = f" ({asked.model})" if len(asking) > 1 else ""
                    yield Progress(f"text {place}{by}: {error}")
                    continue
                spoken += done.utterances
                hits += done.cache_hits
        yield _step(len(texts), len(texts))
        yield Progress(f"{spoken - hits} utterances spoken, {hits} were there")
        if failed:
            raise Failed(f"{len(failed)} of {len(texts)} texts could not be spoken")
        yield Progress("success")

    def _asking(
        self, request: WarmRequest, options: Mapping[str, object], name: ModelName, client: str
    ) -> SpeechRequest:
        """What one model is asked, but for the text."""
        return SpeechRequest(
            name.short,
            "",
            {"priority": WARMING_PRIORITY, **options, "cache": True, "audio_format": "pcm"},
            system=request.system or None,
            client=client,
            surface="warm",
        )

    async def _speak_once(self, asked: SpeechRequest) -> SpeechDone:
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


def _sum(extents: Iterable[Extent]) -> Extent:
    total = Extent()
    for each in extents:
        total = Extent(total.sounds + each.sounds, total.size_bytes + each.size_bytes)
    return total


def _kept(extent: Extent, budget_bytes: int) -> KeptSounds:
    return KeptSounds(sounds=extent.sounds, size=extent.size_bytes, budget=budget_bytes)


def _step(done: int, total: int) -> Progress:
    return Progress("warming", digest="warming", total=total, completed=done)
