"""`/api/cache`: what lies in the audio cache, emptying it, filling it. Sizes in bytes."""

from msgspec import field

from ollama_tts.protocol.ollama import NamedRequest, Options, Wire


class KeptSounds(Wire, kw_only=True, omit_defaults=False):
    """So many sounds of so many bytes; `budget` is 0 where there is no such cache."""

    sounds: int = 0
    size: int = 0
    budget: int = 0


class CacheResponse(Wire, kw_only=True):
    """GET: what is kept. DELETE: what that freed (`budget` as before)."""

    memory: KeptSounds
    disk: KeptSounds


class ForgetRequest(NamedRequest, kw_only=True):
    """DELETE /api/cache: of one model. All of it is forgotten where there is no body."""


class WarmRequest(NamedRequest, kw_only=True):
    """POST /api/cache: texts to speak into the cache, with the options of later requests."""

    prompts: list[str] = field(default_factory=list)
    system: str = ""
    options: Options = field(default_factory=dict)
    stream: bool = True
