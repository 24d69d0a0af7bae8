"""docs/cli.md names every command, every argument and every method there is."""

import argparse
import inspect
import re

import pytest

from ollama_tts import AsyncClient, Client
from ollama_tts.cli.arguments import parser
from tests.cli.conftest import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def commands() -> dict[str, argparse.ArgumentParser]:
    """Each command by all its names."""
    (choices,) = (action.choices for action in parser()._actions if action.dest == "==SUPPRESS==")
    assert isinstance(choices, dict)
    return choices


COMMANDS = commands()
EXPLAINED_UNDER_RUN = "--voice --format --option"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_has_its_heading_and_its_arguments(name: str) -> None:
    command = COMMANDS[name]
    heading = next(n for n, c in COMMANDS.items() if c is command)
    section = re.search(rf"^## {heading}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert f"`{name}`" in section[1] or f"ollama-tts {name}" in section[1]
    known = section[1] if name == "run" else section[1] + EXPLAINED_UNDER_RUN
    for action in command._actions:
        for option in action.option_strings:
            if action.dest not in {"help", "command"}:
                assert option in known
        if not action.option_strings and isinstance(action.metavar, str):
            assert action.metavar in section[1]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_method_is_named(kind: type) -> None:
    methods = {
        name
        for name, member in inspect.getmembers(kind, inspect.isroutine)
        if not name.startswith("_")
    }
    named = set(re.findall(r"`(\w+)\(", PAGE)) | {"close", "events", "speaks"}
    assert methods == named & methods
    assert named - methods == set()


def test_both_clients_have_the_same_methods() -> None:
    assert set(dir(Client)) - {"__enter__", "__exit__"} == set(dir(AsyncClient)) - {
        "__aenter__", "__aexit__",
    }  # fmt: skip
    for name, member in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            assert list(inspect.signature(member).parameters) == list(
                inspect.signature(getattr(AsyncClient, name)).parameters
            )
