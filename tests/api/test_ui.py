"""The page at /ui/."""

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest


def inside(tag: str, page: str) -> str:
    [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return str(text)


def test_the_page_is_served_under_both_spellings(http: httpx.Client) -> None:
    for path in ("/ui/", "/ui"):
        answer = http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "<title>ollama-tts</title>" in answer.text


def test_only_its_own_script_and_style_may_run(http: httpx.Client) -> None:
    answer = http.get("/ui/")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        digest = hashlib.sha256(inside(tag, answer.text).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "http://" not in answer.text
    assert "https://" not in answer.text


def test_every_part_that_the_script_uses_is_on_the_page(http: httpx.Client) -> None:
    page = http.get("/ui/").text
    used = set(re.findall(r"\$\('(\w+)'\)", inside("script", page)))
    assert used
    assert used <= set(re.findall(r'id="(\w+)"', page))


def test_the_script_parses(http: httpx.Client, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed on this machine")
    file = tmp_path / "page.mjs"
    file.write_text(inside("script", http.get("/ui/").text))
    done = subprocess.run([node, "--check", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
