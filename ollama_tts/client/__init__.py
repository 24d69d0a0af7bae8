"""The protocol over httpx: `Client`, and `AsyncClient` with the same methods to be awaited."""

from ollama_tts.client.asynchronous import AsyncClient
from ollama_tts.client.create import OnProgress
from ollama_tts.client.retry import Backoff
from ollama_tts.client.speech import Asked, SpeechChunk, SpeechEnd
from ollama_tts.client.sync import Client

__all__ = ["Asked", "AsyncClient", "Backoff", "Client", "OnProgress", "SpeechChunk", "SpeechEnd"]
