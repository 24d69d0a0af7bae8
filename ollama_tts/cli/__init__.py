"""The command `ollama-tts`; `main` dispatches, each command is imported when it is called."""
