"""The command `ollama-tts`: reads the arguments, runs one command, turns failures into statuses.

Exit status: 0 ok, 1 failed (one line `Error: …` on stderr), 2 usage, 130 interrupted (any other
signal 128 and its number: 141 where the reader of our output went away). Commands are imported
when they are called, so that help and completion cost nothing.
"""

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
    arguments = root.parse_args(argv)
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


def _one_line(error: Exception) -> str:
    text = error.explained if isinstance(error, InvalidModelfile) else str(error)
    return " ".join(text.split()) or type(error).__name__


def _forget_stdout() -> None:
    """Let the interpreter's last flush go nowhere: nobody reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
