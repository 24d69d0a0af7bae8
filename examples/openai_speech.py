"""Speech through OpenAI's client, which reads server and key from the environment.

pip install openai
OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=unused python examples/openai_speech.py
"""

import sys
from pathlib import Path

import openai


def main(path: Path) -> None:
    client = openai.OpenAI()
    with client.audio.speech.with_streaming_response.create(
        model="hibari", voice="heart", input="This is the door of another house.", speed=1.1
    ) as answer:
        answer.stream_to_file(path)
    print(f"{path}: {path.stat().st_size} bytes of mp3")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "hello.mp3"))
