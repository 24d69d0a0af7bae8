"""Debian's `docker-registry`, started on loopback for one test."""

import ipaddress
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

COMMAND = "docker-registry"
# bcrypt of "pass-word", for "reader"
HTPASSWD = "reader:$2y$05$wVuBcK5C7WQe9e2n19xDX.QIVgYhaSlqUzIFRMeHiS.J8uMK/tjSW\n"
PATIENCE_S = 30.0
_CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: "{root}/data"}}, delete: {{enabled: true}}}}
http: {{addr: "{host}"{tls}}}
"""
_TLS = ', tls: {{certificate: "{root}/server.pem", key: "{root}/server.key"}}'
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
def docker_registry(root: Path, *, basic: bool, https: bool = False) -> Iterator[str]:
    """A registry with an empty store below `root`; gives its host and port.

    With `https` it certifies itself, by `root/server.pem`.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = _CONFIG + (_BASIC if basic else "")
    tls = _TLS.format(root=root) if https else ""
    (root / "config.yml").write_text(config.format(root=root, host=host, tls=tls))
    if https:
        _certify(root)
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
            httpx.get(f"http://{host}/v2/")  # over TLS, too: it answers 400
        except httpx.TransportError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("docker-registry did not come up")


def _certify(root: Path) -> None:
    """A key and a certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    (root / "server.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (root / "server.key").write_bytes(private)
