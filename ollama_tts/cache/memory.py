"""`MemoryCache`: the least recently heard goes first, counted in bytes."""

from collections import OrderedDict

from ollama_tts.cache.sound import Extent, Sound


class MemoryCache:
    """Sounds in memory, never more than `budget_bytes` of samples together."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._sounds: OrderedDict[str, Sound] = OrderedDict()
        self.size_bytes = 0

    @property
    def extent(self) -> Extent:
        """What is kept."""
        return Extent(len(self._sounds), self.size_bytes)

    def get(self, key: str) -> Sound | None:
        """The sound of this key, which counts as heard just now; None where there is none."""
        sound = self._sounds.get(key)
        if sound is not None:
            self._sounds.move_to_end(key)
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound; one larger than the whole budget is not kept."""
        self.drop(key)
        if sound.size_bytes > self.budget_bytes:
            return
        while self.size_bytes + sound.size_bytes > self.budget_bytes:
            self.drop(next(iter(self._sounds)))
        self._sounds[key] = sound
        self.size_bytes += sound.size_bytes

    def drop(self, key: str) -> None:
        """Forget one sound, if it is there."""
        sound = self._sounds.pop(key, None)
        if sound is not None:
            self.size_bytes -= sound.size_bytes

    def clear(self, model: str | None = None) -> Extent:
        """Forget all sounds, or those of one model. Returns what that freed."""
        before = self.extent
        for key in [k for k, s in self._sounds.items() if model is None or s.model == model]:
            self.drop(key)
        return Extent(before.sounds - len(self._sounds), before.size_bytes - self.size_bytes)
