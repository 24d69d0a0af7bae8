"""`python -m ollama_tts` is the `ollama-tts` command."""

from ollama_tts.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
