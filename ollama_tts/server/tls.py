"""The server's certificate, read once before anything listens."""

import ssl
from pathlib import Path

from ollama_tts.config import Certificate
from ollama_tts.errors import Failed


def read_pem(certificate: Certificate) -> tuple[bytes, bytes]:
    """Chain and private key as they stand in their files, found to belong together.

    Raises:
        Failed: A file cannot be read, or the two are no pair; the text names the variable.
    """
    chain = _read(certificate.chain, "OLLAMA_TTS_TLS_CERT")
    key = _read(certificate.key, "OLLAMA_TTS_TLS_KEY")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            certificate.chain, certificate.key, password=""
        )
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise Failed(
            "OLLAMA_TTS_TLS_CERT and OLLAMA_TTS_TLS_KEY are no certificate with its key, "
            f"unencrypted PEM: {reason}"
        ) from error
    return chain, key


def _read(path: Path, variable: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failed(f"{variable}: {path} cannot be read: {error.strerror}") from error
