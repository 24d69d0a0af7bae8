"""Spoken sound, kept: in memory by bytes, on disk if asked, and shared while it is being made."""

from ollama_tts.cache.cache import SoundCache
from ollama_tts.cache.flights import Flights
from ollama_tts.cache.key import sound_key
from ollama_tts.cache.sound import Extent, Sound

__all__ = ["Extent", "Flights", "Sound", "SoundCache", "sound_key"]
