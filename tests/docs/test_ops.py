"""The files that run and watch a server: checked by the tools that read them, where these are."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.loopback import free_port

ROOT = Path(__file__).parents[2]
OPS = ROOT / "docs" / "ops"
DEPLOY = ROOT / "deploy"
ONLY_WITH_A_CARD = {"ollama_tts_gpu_memory_total_bytes", "gpu_memory_free_bytes"}


def tool(name: str) -> str:
    """Where a program is; the test is skipped where it is not."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def check(*command: str | Path, given: bytes = b"") -> str:
    """Run a checker; fail with its words."""
    ran = subprocess.run([str(c) for c in command], input=given, capture_output=True, check=False)
    said = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == 0, said
    return said


def expressions() -> list[str]:
    """Every expression of the dashboard, its variables filled in."""
    board = json.loads((OPS / "dashboard.json").read_text())
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    filled = [e.replace("$instance", ".*").replace("$__rate_interval", "1m") for e in found]
    assert len(filled) > 20
    return filled


def metrics_of(text: str) -> set[str]:
    """The metrics that expressions ask for."""
    names = re.findall(r"\b((?:ollama|chattts|grpc|gpu)_[a-z_]+)\b(?=[{\[ )/]|$)", text)
    return set(names) - {"ollama_tts"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with serving(settings_for(tmp_path_factory.mktemp("watched"))) as server:
        body = {"model": "tone", "prompt": "Watched.", "options": {"seed": 1}}
        for _ in range(2):
            assert httpx.post(f"{server.url}/api/generate", json=body, timeout=60).is_success
        yield server


def test_the_rules_do_what_their_cases_say() -> None:
    promtool = tool("promtool")
    assert "8 rules found" in check(promtool, "check", "rules", OPS / "alerts.yml")
    check(promtool, "test", "rules", OPS / "alerts_test.yml")


def test_the_metrics_pass_prometheus_own_lint(watched: LiveServer) -> None:
    text = httpx.get(f"{watched.url}/metrics").content
    ran = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, capture_output=True, check=False
    )
    said = (ran.stdout + ran.stderr).decode().splitlines()
    # the user's documents name this one in milliseconds
    assert [line for line in said if "chattts_stream_latency_ms" not in line] == []


def test_every_metric_asked_for_is_there(watched: LiveServer) -> None:
    there = httpx.get(f"{watched.url}/metrics").text
    asked = metrics_of((OPS / "alerts.yml").read_text()) | metrics_of("\n".join(expressions()))
    assert len(asked) > 15
    for name in asked - ONLY_WITH_A_CARD:
        assert f"# TYPE {name.removesuffix('_bucket')} " in there, name


@pytest.mark.slow
def test_prometheus_itself_reads_all_of_it(watched: LiveServer, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    config = (DEPLOY / "prometheus.yml").read_text()
    config = config.replace("15s", "1s").replace("ollama-tts:11434", watched.url[7:])
    (tmp_path / "prometheus.yml").write_text(config)
    shutil.copy(OPS / "alerts.yml", tmp_path)
    command = [
        tool("prometheus"), f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={address}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            with httpx.Client(base_url=f"http://{address}/api/v1") as api:
                scraped(api)
                for expression in expressions():
                    told = api.get("/query", params={"query": expression}).json()
                    assert told["status"] == "success", (expression, told)
                ok = 'sum(ollama_tts_requests_total{job="ollama_tts",outcome="ok"})'
                (counted,) = api.get("/query", params={"query": ok}).json()["data"]["result"]
                assert counted["value"][1] == "2"
                (group,) = api.get("/rules").json()["data"]["groups"]
                assert len(group["rules"]) == 8
        finally:
            server.terminate()


def scraped(api: httpx.Client) -> None:
    """Return when Prometheus has read the server's metrics once."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        try:
            answer = api.get("/query", params={"query": 'up{job="ollama_tts"} == 1'})
            told: Any = answer.json() if answer.is_success else {}  # 503 while it starts
        except httpx.TransportError:
            told = {}
        if told.get("data", {}).get("result"):
            return
        time.sleep(0.2)
    pytest.fail("Prometheus did not read the server's metrics within a minute")


def test_the_container_file_passes_its_linter() -> None:
    check(tool("hadolint"), DEPLOY / "Dockerfile")


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    unit = tmp_path / "ollama-tts.service"
    text = (DEPLOY / "ollama-tts.service").read_text()
    unit.write_text(text.replace("/opt/ollama-tts/bin/ollama-tts", "/bin/true"))
    check(analyze, "verify", unit)
    said = check(analyze, "security", "--offline=yes", "--threshold=20", unit)
    assert "OK" in said.splitlines()[-1]


def test_the_compose_file_is_of_its_schema() -> None:
    check(
        tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"
    )


def test_the_compose_file_names_files_that_are_there() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    mounted = re.findall(r"- (\.{1,2}/[^:\n]+):", text)
    assert len(mounted) == 5
    for path in mounted:
        assert (DEPLOY / path).is_file(), path
    for port in re.findall(r'- "(.+:\d+)"', text):
        assert port.startswith("127.0.0.1:"), port


def test_the_dashboard_is_whole() -> None:
    board = json.loads((OPS / "dashboard.json").read_text())
    assert board["uid"] == "ollama-tts"
    identities = [panel["id"] for panel in board["panels"]]
    assert sorted(set(identities)) == identities
    for panel in board["panels"]:
        assert panel["title"]
        assert panel["description"]
    places = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]}
    assert len(places) == len(board["panels"])
