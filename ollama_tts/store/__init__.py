"""Models on disk, in Ollama's layout: content-addressed blobs, manifests that appear last."""
