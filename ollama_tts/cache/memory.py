"""`MemoryCache`: the least recently heard goes first, counted in bytes."""

from collections import OrderedDict

from ollama_tts.cache.sound import Sound


class MemoryCache:
    """Sounds in memory, never more than `budget_bytes` of samples together."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._sounds: OrderedDict[str, Sound] = OrderedDict()
        self.size_bytes = 0

    def get(self, key: str) -> Sound | None:
        """The sound of this key, which counts as heard just now; None where there is none."""
        sound = self._sounds.get(key)
        if sound is not None:
            self._sounds.move_to_end(key)
        return sound

    def put(self, key: str, sound: Sound) -> None:
        """Keep a sound; one larger than the whole budget is not kept."""
        if sound.size_bytes > self._budget_bytes:
            return
        self.drop(key)
        self._sounds[key] = sound
        self.size_bytes += sound.size_bytes
        while self.size_bytes > self._budget_bytes:
            self.drop(next(iter(self._sounds)))

    def drop(self, key: str) -> None:
        """Forget one sound, if it is there."""
        sound = self._sounds.pop(key, None)
        if sound is not None:
            self.size_bytes -= sound.size_bytes

    def clear(self) -> int:
        """Forget all. Returns how many there were."""
        count = len(self._sounds)
        self._sounds.clear()
        self.size_bytes = 0
        return count
