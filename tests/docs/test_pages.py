"""What the documents say is what the code has."""

import importlib.util
import re
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import ollama_tts
from ollama_tts.options import OPTIONS
from ollama_tts.server.http.app import ROUTES
from ollama_tts.server.http.errors import STATUS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_made_pages_are_up_to_date(generate: ModuleType) -> None:
    stale = [
        name
        for name, render in generate.PAGES.items()
        if (DOCS / name).read_text(encoding="utf-8") != render()
    ]
    assert stale == [], "run: python docs/generate.py"


@pytest.mark.parametrize("path", sorted({path for _, path, _, _ in ROUTES} - {"/"}))
def test_every_route_is_documented(path: str) -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    stem = path.partition("{")[0].rstrip("/")
    assert stem in text


def test_every_status_is_documented() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    assert [code for code in set(STATUS.values()) if f"| {code} |" not in text] == []


def test_every_page_is_on_the_map_and_every_link_leads_somewhere() -> None:
    map_text = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = sorted(page.name for page in DOCS.glob("*.md") if page.name != "README.md")
    assert [page for page in pages if f"({page})" not in map_text] == []
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_tells_every_option_in_chinese_too() -> None:
    text = files("ollama_tts.server.http").joinpath("page/tongues.js").read_text("utf-8")
    told = re.findall(r"^  (\w+): '", text.split("OPTIONS_ZH")[1], re.MULTILINE)
    elsewhere = {"voice", "speed", "audio_format"}  # their fields have labels of their own
    assert told == sorted({option.name for option in OPTIONS} - elsewhere)


def test_public_names_are_importable() -> None:
    for name in ollama_tts.__all__:
        assert getattr(ollama_tts, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        ollama_tts.no_such_name  # noqa: B018


def test_documents_name_no_place_of_their_making() -> None:
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        assert "/work/" not in page.read_text(encoding="utf-8"), page.name
