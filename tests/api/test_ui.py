"""The page at /ui/, as HTTP gives it; tests/browser uses it."""

import importlib.resources
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from ollama_tts.config import ApiKey
from ollama_tts.options import OPTIONS
from tests.support.live import serving, settings_for

PAGE = importlib.resources.files("ollama_tts.server.http").joinpath("page")
NAMES = sorted(entry.name for entry in PAGE.iterdir())
SCRIPTS = [name for name in NAMES if name.endswith(".js")]


def text_of(name: str) -> str:
    return PAGE.joinpath(name).read_text(encoding="utf-8")


def test_the_page_is_served_under_both_spellings(http: httpx.Client) -> None:
    for path in ("/ui/", "/ui"):
        answer = http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.content == PAGE.joinpath("index.html").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_served_once_and_then_known_by_its_mark(
    name: str, http: httpx.Client
) -> None:
    answer = http.get(f"/ui/{name}")
    assert answer.content == PAGE.joinpath(name).read_bytes()
    assert not answer.headers["content-type"].startswith("application/octet-stream")
    known = http.get(f"/ui/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("name", ["ui.py", "__init__.py", "..%2fui.py", "page", "nothing.js"])
def test_nothing_else_is_there(name: str, http: httpx.Client) -> None:
    answer = http.get(f"/ui/{name}")
    assert answer.status_code == 404
    assert answer.json().keys() == {"error"}


def test_nothing_may_come_from_elsewhere(http: httpx.Client) -> None:
    policy = http.get("/ui/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    for name in NAMES:
        text = text_of(name).replace("http://www.w3.org/2000/svg", "").replace("example.com", "")
        assert not re.search(r"//[\w-]+\.\w", text), name
    assert not re.search(r"<script[^>]*>[^<]|<style|style=| on\w+=", text_of("index.html"))


def test_every_part_that_the_scripts_use_is_on_the_page() -> None:
    there = set(re.findall(r'\bid="([\w-]+)"', text_of("index.html")))
    used = {name for file in SCRIPTS for name in re.findall(r"\$\('([\w-]+)'\)", text_of(file))}
    assert used
    assert used <= there


def test_both_languages_say_the_same_things() -> None:
    english, chinese = (
        set(re.findall(r"^    (\w+):", part, re.MULTILINE))
        for part in re.split(
            r"^  zh: \{$", text_of("tongues.js").split("TONGUES")[1], flags=re.MULTILINE
        )
    )
    assert english == chinese
    assert set(re.findall(r'data-t(?:-\w+)?="(\w+)"', text_of("index.html"))) <= english


def test_the_page_is_told_of_every_option(http: httpx.Client) -> None:
    about = http.get("/ui/about.json").json()
    assert [row["name"] for row in about["options"]] == [option.name for option in OPTIONS]


def test_the_page_needs_no_key_and_what_it_asks_for_does(tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), api_keys=(ApiKey.of("secret"),))
    with serving(settings) as server, httpx.Client(base_url=server.url) as http:
        for path in ("/ui/", "/ui/app.js", "/ui/about.json"):
            assert http.get(path).status_code == 200
        for path in ("/api/tags", "/ui/../api/tags", "/v1/audio/voices", "//api/tags"):
            assert http.get(path).status_code == 401


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_parse(name: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed on this machine")
    file = tmp_path / (name.removesuffix(".js") + ".mjs")
    file.write_text(text_of(name), encoding="utf-8")
    done = subprocess.run([node, "--check", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
