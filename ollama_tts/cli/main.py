"""The command `ollama-tts`: reads the arguments, runs one command, turns failures into statuses.

Exit status: 0 ok, 1 failed (one line `Error: …` on stderr), 2 usage, 130 interrupted (any other
signal 128 and its number: 141 where the reader of our output went away). Commands are imported
when they are called, so that help and completion cost nothing.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from ollama_tts.cli.arguments import parser
from ollama_tts.errors import InvalidModelfile, OllamaTTSError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status; `argv` None reads the process's own arguments.

    Raises:
        SystemExit: With 2 for arguments that do not parse, with 0 after help.
    """
    root = parser()
    arguments = parse(root, argv)
    if not arguments.command:
        root.print_help()
        return 0
    try:
        module, _, function = arguments.command.partition(":")
        status = getattr(import_module(f"ollama_tts.cli.{module}"), function)(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        _forget_stdout()
        return 128 + signal.SIGPIPE
    except (OllamaTTSError, OSError) as error:
        print(f"Error: {_one_line(error)}", file=sys.stderr)
        return 1
    return int(status or 0)


def parse(root: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; TEXT may stand behind options, too, which argparse alone does not allow.

    Raises:
        SystemExit: With 2 for arguments that mean nothing.
    """
    arguments, rest = root.parse_known_args(argv)
    if not rest:
        return arguments
    text = getattr(arguments, "text", None)
    options = rest[: rest.index("--")] if "--" in rest else rest
    if text is None or any(word.startswith("-") and word != "-" for word in options):
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    if "--" in rest:
        rest.remove("--")
    arguments.text = [*([text] if isinstance(text, str) else text), *rest]
    return arguments


def _one_line(error: Exception) -> str:
    text = error.explained if isinstance(error, InvalidModelfile) else str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(text.split()) or type(error).__name__


def _forget_stdout() -> None:
    """Let the interpreter's last flush go nowhere: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
