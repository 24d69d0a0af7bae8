"""`ApiKey`: a key as the server keeps it, its SHA-256 and never its text."""

import hashlib
import hmac
import re
from dataclasses import dataclass, field

_HASHED = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One API key."""

    sha256: bytes = field(repr=False)

    @classmethod
    def of(cls, text: str) -> "ApiKey":
        """The key with this text; `sha256:HEX` stands for one whose hash alone is known here."""
        hashed = _HASHED.fullmatch(text)
        return cls(bytes.fromhex(hashed[1]) if hashed else _sha256(text))

    @property
    def name(self) -> str:
        """What the key's holder is called in logs and accounts; tells nothing about the key."""
        return f"key:{self.sha256.hex()[:8]}"

    def matches(self, offered: str) -> bool:
        """Whether `offered` is this key; takes the same time whatever it is."""
        return hmac.compare_digest(self.sha256, _sha256(offered))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
