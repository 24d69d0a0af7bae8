"""Models from elsewhere: registries that speak Ollama's `/v2` protocol, and the model hub.

Nothing here knows the models on disk by name: it moves manifests and blobs, and checks them.
"""
