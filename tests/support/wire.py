"""HTTP by hand: what no client library would send, and answers as they arrive."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from ollama_tts.config import Address

PATIENCE_S = 30.0


class Wire:
    """One connection to a server."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection((address.host, address.port), PATIENCE_S)
        self.reader: BinaryIO = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, path: str, value: object, *fields: str) -> None:
        """Send a POST of JSON, with more header fields as they are given."""
        self.post_raw(path, json.dumps(value).encode(), *fields)

    def post_raw(self, path: str, body: bytes, *fields: str) -> None:
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        self.send("\r\n".join([*lines, *fields, "", ""]).encode() + body)

    def ask(self, method: str, path: str, *fields: str) -> tuple[int, dict[str, str], bytes]:
        """A request without a body, and its answer."""
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", *fields, "", ""]).encode())
        return self.answer(with_body=method != "HEAD")

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and header fields (names in lower case) of the answer that begins now."""
        status = int(self.reader.readline().split()[1])
        fields: dict[str, str] = {}
        while line := self.reader.readline().strip():
            name, _, text = line.decode("latin-1").partition(":")
            fields[name.lower()] = text.strip()
        return status, fields

    def chunk(self) -> bytes:
        """The next chunk of a chunked body, as it was sent; empty at the end mark.

        Raises:
            EOFError: The connection ended without the end mark.
        """
        size = self.reader.readline()
        if not size:
            raise EOFError("the body ended without its end mark")
        data = self.reader.read(int(size, 16))
        self.reader.readline()
        return data

    def chunks(self) -> Iterator[bytes]:
        while data := self.chunk():
            yield data

    def answer(self, *, with_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        """The whole answer that begins now."""
        status, fields = self.head()
        if not with_body or status in {204, 304}:
            return status, fields, b""
        if fields.get("transfer-encoding") == "chunked":
            return status, fields, b"".join(self.chunks())
        return status, fields, self.reader.read(int(fields.get("content-length", "0")))

    def ended(self) -> bool:
        """Whether the server has closed; waits for it."""
        try:
            return self.reader.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        """Leave at once: the server sees a reset."""
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.reader.close()
        self.socket.close()


@contextmanager
def wire(address: Address) -> Iterator[Wire]:
    """A connection for as long as the block lasts."""
    connection = Wire(address)
    try:
        yield connection
    finally:
        connection.close()


def lines_of(body: bytes) -> list[dict[str, Any]]:
    """The objects of an NDJSON body, every line of which must be one and end in a line feed."""
    assert body.endswith(b"\n")
    return [json.loads(line) for line in body.removesuffix(b"\n").split(b"\n")]
