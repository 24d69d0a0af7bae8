"""A scripted server for each test that asks for one."""

import threading
from collections.abc import Callable, Generator

import pytest

from tests.support.scripted_http import Reply, Scripted


@pytest.fixture
def scripted() -> Generator[Callable[..., Scripted]]:
    """Starts a scripted server; all are closed at the end."""
    started: list[tuple[Scripted, threading.Thread]] = []

    def start(*replies: Reply) -> Scripted:
        server = Scripted(replies)
        thread = threading.Thread(target=server.server.serve_forever, args=(0.01,))
        thread.start()
        started.append((server, thread))
        return server

    yield start
    for server, thread in started:
        server.server.shutdown()
        thread.join()
        server.server.server_close()
