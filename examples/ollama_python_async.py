"""Several texts at once through the official asynchronous ollama client.

pip install ollama
python examples/ollama_python_async.py FOLDER            (OLLAMA_HOST is read by the client)
"""

import asyncio
import base64
import sys
from pathlib import Path

import ollama

TEXTS = ("One of three.", "Two of three.", "Three of three.")


async def speak(client: ollama.AsyncClient, text: str) -> bytes:
    answer = await client.generate("hibari", text, options={"audio_format": "flac"})
    return base64.b64decode(answer.response)


async def main(folder: Path) -> None:
    client = ollama.AsyncClient()
    sounds = await asyncio.gather(*(speak(client, text) for text in TEXTS))
    for number, sound in enumerate(sounds, 1):
        (folder / f"{number}.flac").write_bytes(sound)
        print(f"{number}.flac: {len(sound)} bytes")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
