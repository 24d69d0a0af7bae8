"""One text over the Wyoming protocol into a WAV file, as Home Assistant asks for it.

pip install 'ollama-tts[wyoming]'
OLLAMA_TTS_WYOMING_HOST=127.0.0.1:10200 python examples/wyoming_client.py on.wav "It is on."
"""

import asyncio
import os
import sys
import wave

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.tts import Synthesize


async def main(path: str, text: str) -> None:
    address = os.environ.get("OLLAMA_TTS_WYOMING_HOST", "127.0.0.1:10200")
    async with AsyncClient.from_uri(f"tcp://{address}") as client:
        await client.write_event(Synthesize(text=text).event())
        with wave.open(path, "wb") as file:
            while event := await client.read_event():
                if AudioStart.is_type(event.type):
                    start = AudioStart.from_event(event)
                    file.setparams((start.channels, start.width, start.rate, 0, "NONE", ""))
                elif AudioChunk.is_type(event.type):
                    file.writeframes(AudioChunk.from_event(event).audio)
                elif Error.is_type(event.type):
                    sys.exit(Error.from_event(event).text)
                elif AudioStop.is_type(event.type):
                    break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "The light is on."))
