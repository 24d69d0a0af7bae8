"""Text for speech: from what people write to what a voice can say, nothing lost on the way."""

from ollama_tts.text.preparer import prepare

__all__ = ["prepare"]
