"""What httpx raises, as errors of ours that name the host and the reason."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from ollama_tts.errors import Unreachable, UpstreamFailed
from ollama_tts.registry.road import PrivateAddress


class Refused(UpstreamFailed):
    """A server sent us where we do not go, or what we do not take; asking again is no use."""


class Passing(UpstreamFailed):
    """Something that may go away by itself; `retry_after_s` is what the server asked for."""

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@contextmanager
def explained(method: str, url: httpx.URL, proxy: str = "") -> Iterator[None]:
    """Turn httpx's errors inside the block into ours; `proxy` is the one on the way, if any.

    Raises:
        Refused: The address is private, or no address at all.
        Unreachable: There was no connection.
        Passing: The connection broke or stalled.
    """
    doing = f'{method.capitalize()} "{shown(url)}"' + (f" through proxy {proxy}" if proxy else "")
    try:
        yield
    except PrivateAddress as error:
        raise Refused(
            f"{error}: only the host that the model's name names, and partners that "
            "OLLAMA_TTS_REGISTRIES lists for it, may be in a private network"
        ) from error
    except httpx.ProxyError as error:
        raise Unreachable(f"{doing}: {reason(error)}") from error
    except httpx.ConnectTimeout as error:
        raise Unreachable(f"{doing}: dial tcp: no connection in time") from error
    except httpx.ConnectError as error:
        raise Unreachable(f"{doing}: dial tcp: {reason(error)}") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Refused(f"{doing}: not an address") from error
    except httpx.TimeoutException as error:
        raise Passing(f"{doing}: the connection stalled") from error
    except (httpx.TransportError, httpx.StreamError) as error:
        raise Passing(f"{doing}: the connection broke: {reason(error)}") from error


def shown(url: httpx.URL) -> str:
    """A URL without what may be secret: user, password, query."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def reason(error: BaseException) -> str:
    """The innermost reason that an error's causes know, in the system's words."""
    text = str(error)
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, OSError) and cause.errno:
            text = _system_text(cause)
        cause = cause.__cause__ or cause.__context__
    return text or type(error).__name__


def _system_text(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno or 0)
