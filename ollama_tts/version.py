"""The version: here alone; the package's metadata is made from it."""

__version__ = "0.1.0"
