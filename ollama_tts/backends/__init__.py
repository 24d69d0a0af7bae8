"""Voices: each backend loads one kind of model. The only place for torch and onnxruntime."""
