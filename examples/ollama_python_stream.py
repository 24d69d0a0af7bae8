"""Stream speech through the official ollama client, unmodified.

pip install ollama
python examples/ollama_python_stream.py hello.wav        (OLLAMA_HOST is read by the client)
"""

import base64
import sys
from pathlib import Path

import ollama

TEXT = "Each part of the answer decodes alone. All parts together are one file."


def main(path: Path) -> None:
    with path.open("wb") as file:
        for part in ollama.generate("hibari", TEXT, stream=True, options={"speed": 1.1}):
            sound = base64.b64decode(part.response)
            file.write(sound)
            print(f"{len(sound)} bytes{', done' if part.done else ''}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "hello.wav"))
