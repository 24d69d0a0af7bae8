"""Text for speech: from what people write to what a voice can say, every character accounted for."""

from ollama_tts.text.preparer import prepare

__all__ = ["prepare"]
