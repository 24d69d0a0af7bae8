import re
import signal
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import PATIENCE_S, Cli


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_a_signal(alone: Cli, tmp_path: Path, number: signal.Signals) -> None:
    with alone.start("serve", OLLAMA_HOST="127.0.0.1:0", OLLAMA_MODELS=str(tmp_path)) as running:
        log = b""
        while (found := re.search(rb"listening on (127[0-9.:]+)", log)) is None:
            log += running.stderr.read(4096)
            assert running.process.poll() is None, log
        host = found[1].decode()
        assert httpx.get(f"http://{host}/").text == "Ollama is running"
        assert "hibari" in alone("list", OLLAMA_HOST=host).text
        running.process.send_signal(number)
        assert running.process.wait(PATIENCE_S) == 0


def test_an_address_in_use_is_one_line(online: Cli) -> None:
    done = online("serve")
    assert done.status == 1
    last = done.error.splitlines()[-1]
    assert last.startswith("Error: ")
    assert "127.0.0.1" in last
