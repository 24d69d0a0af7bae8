import re
import subprocess
import sys

import pytest

from ollama_tts.config import VARIABLES
from tests.cli.conftest import Cli, environment

COMMANDS = (
    "serve", "run", "create", "pull", "push", "list", "ls", "ps", "show", "cp", "rm", "stop",
    "explain", "bench", "batch", "version",
)  # fmt: skip
LOOK = """
import sys
from ollama_tts.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("loaded:", " ".join(sorted(name for name in sys.modules if "." not in name)))
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that are there after the command line has done what it is asked."""
    ran = subprocess.run(
        [sys.executable, "-c", LOOK, *arguments],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    return set(ran.stdout.rpartition("loaded:")[2].split())


@pytest.mark.parametrize("arguments", [("--help",), (), ("serve", "--help"), ("run", "--help")])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    heavy = {"torch", "starlette", "uvicorn", "httpx", "numpy", "msgspec", "asyncio", "ssl"}
    assert not heavy & loaded(*arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(alone: Cli, command: str) -> None:
    done = alone(command, "--help")
    assert done.status == 0
    name = {"ls": "list"}.get(command, command)
    assert done.text.startswith(f"usage: ollama-tts {name}")


def test_without_a_command_there_is_help(alone: Cli) -> None:
    done = alone()
    assert done.status == 0
    assert all(re.search(rf"\b{name}\b", done.text) for name in COMMANDS)


def test_serve_help_lists_every_variable(alone: Cli) -> None:
    text = alone("serve", "--help").text
    for variable in VARIABLES:
        assert variable.name in text
        assert variable.help in text


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (("sing",), "invalid choice: 'sing'"),
        (("run",), "MODEL"),
        (("run", "hibari", "--loud"), "--loud"),
        (("run", "hibari", "--option", "speed"), "'speed' is not of the form name=value"),
        (("run", "hibari", "--option", "speed=9"), "from 0.5 to 2, not 9.0"),
        (("run", "hibari", "--option", "sped=1"), "did you mean 'speed'?"),
        (("bench", "hibari", "--concurrency", "1,none"), "'none' must be an integer, 1 or more"),
        (("batch", "lines.txt"), "-o"),
        (("show", "m", "--license", "--system"), "not allowed with"),
    ],
)
def test_usage_errors_are_status_2(alone: Cli, arguments: tuple[str, ...], because: str) -> None:
    done = alone(*arguments)
    assert done.status == 2
    assert done.out == b""
    assert because in done.error


def test_an_address_that_is_none_is_one_line(alone: Cli) -> None:
    done = alone("list", OLLAMA_HOST="127.0.0.1:port")
    assert done.status == 1
    assert (
        done.error == "Error: OLLAMA_HOST '127.0.0.1:port': port 'port' must be from 0 to 65535\n"
    )


def test_without_a_server_the_error_says_how_to_start_one(alone: Cli) -> None:
    done = alone("list")
    assert done.status == 1
    assert re.fullmatch(
        r"Error: could not connect to http://127.*`ollama-tts serve`.*\n", done.error
    )
