"""The real Ollama behind this server (OLLAMA_UPSTREAM): one HTTP client, and answers told by it."""
