"""`KeyFile`: the ed25519 key that names this server to Ollama's registry.

The file is an OpenSSH private key, as Ollama's `id_ed25519`; signing needs the package
`cryptography`.
"""

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ollama_tts.errors import Unauthorized
from ollama_tts.store.durable import failures, make_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_KEY_BYTES = 64 * 1024


class KeyFile:
    """One of several places for a key: the first that exists is used, else the first is made."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = tuple(places)

    @property
    def exists(self) -> bool:
        """Whether any of the places holds a file."""
        return any(place.is_file() for place in self._places)

    def sign(self, data: bytes) -> str:
        """`<public key>:<signature>`, both base64, as Ollama's registry reads it.

        Raises:
            Unauthorized: There is no `cryptography`, or the file is no ed25519 key.
            StoreFailed: A new key cannot be written.
        """
        key = self._key()
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        signature = base64.b64encode(key.sign(data))
        return f"{public.split()[1].decode()}:{signature.decode()}"

    def _key(self) -> "Ed25519PrivateKey":
        try:
            from cryptography.hazmat.primitives.asymmetric import ed25519
            from cryptography.hazmat.primitives.serialization import load_ssh_private_key
        except ImportError as error:
            raise Unauthorized(
                "the registry asks for a key's signature; install the package cryptography for it"
            ) from error
        place = next((place for place in self._places if place.is_file()), None)
        if place is None:
            return _made(self._places[0])
        try:
            with place.open("rb") as file:
                key = load_ssh_private_key(file.read(MAX_KEY_BYTES), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise Unauthorized(f"{place.name} cannot be read as an OpenSSH key: {error}") from error
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise Unauthorized(f"{place.name} is no ed25519 key")
        return key


def _made(place: Path) -> "Ed25519PrivateKey":
    """A new key, kept where only this user can read it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    with failures("write the key of this server"):
        make_folder(place.parent, place.parent)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
    return key
