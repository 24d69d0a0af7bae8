"""The version, read from the installed package's metadata."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ollama-tts")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
