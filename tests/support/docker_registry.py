"""Debian's `docker-registry`, started on loopback for one test."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

COMMAND = "docker-registry"
# bcrypt of "pass-word", for "reader"
HTPASSWD = "reader:$2y$05$wVuBcK5C7WQe9e2n19xDX.QIVgYhaSlqUzIFRMeHiS.J8uMK/tjSW\n"
PATIENCE_S = 30.0
_CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: "{root}/data"}}, delete: {{enabled: true}}}}
http: {{addr: "{host}"}}
"""
_BASIC = 'auth: {{htpasswd: {{realm: registry, path: "{root}/htpasswd"}}}}\n'


def unavailable() -> str:
    """Why it cannot be had here; empty where it is installed, by these tests if need be."""
    if shutil.which(COMMAND):
        return ""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "docker-registry is not installed, and only root on Debian can install it"
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", COMMAND]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(command, check=False, capture_output=True, timeout=90, env=environment)
    return "" if shutil.which(COMMAND) else "docker-registry could not be installed"


@contextmanager
def docker_registry(root: Path, *, basic: bool) -> Iterator[str]:
    """A registry with an empty store below `root`; gives its host and port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = _CONFIG + (_BASIC if basic else "")
    (root / "config.yml").write_text(config.format(root=root, host=host))
    (root / "htpasswd").write_text(HTPASSWD)
    with subprocess.Popen(
        [COMMAND, "serve", str(root / "config.yml")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _until_up(process, host)
            yield host
        finally:
            process.terminate()


def _until_up(process: subprocess.Popen[bytes], host: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "docker-registry ended at once"
        try:
            httpx.get(f"http://{host}/v2/")
        except httpx.TransportError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("docker-registry did not come up")
