"""Many texts into files, several at once; what fails is named and the rest is kept.

python examples/client_batch.py FOLDER                   (OLLAMA_HOST is read by the client)
"""

import sys
from pathlib import Path

from ollama_tts import Client
from ollama_tts.errors import BatchFailed

TEXTS = ("The first line.", "The second line.", "…", "The fourth line; the third says nothing.")


def main(folder: Path) -> None:
    with Client() as client:
        try:
            sounds: list[bytes | None] = [*client.batch(TEXTS, "hibari", concurrency=2)]
        except BatchFailed as failed:
            sounds = [*failed.results]
            for index, cause in failed.failures.items():
                print(f"line {index + 1}: {cause}")
    for number, sound in enumerate(sounds, 1):
        if sound is not None:
            (folder / f"{number}.wav").write_bytes(sound)
            print(f"{number}.wav: {len(sound)} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
