"""serve, with all settings in its help, and version."""

import argparse
import sys

from ollama_tts.config import VARIABLES, Settings
from ollama_tts.errors import OllamaTTSError
from ollama_tts.version import __version__


def serve(arguments: argparse.Namespace) -> None:  # noqa: ARG001  # one shape for all commands
    """`serve`: answer until a signal ends it."""
    from ollama_tts.server.run import serve as run_server

    run_server(Settings.from_env())


def show_help(arguments: argparse.Namespace) -> None:
    """`serve --help`: the usual help, and every environment variable."""
    width = max(len(variable.name) for variable in VARIABLES)
    lines = (
        f"  {v.name:{width}}  {v.help}" + (f" (default {v.default})" if v.default else "")
        for v in VARIABLES
    )
    arguments.parser.epilog = "environment variables:\n" + "\n".join(lines)
    arguments.parser.print_help()


def version(arguments: argparse.Namespace) -> None:  # noqa: ARG001
    """`version`: the server's version, and the client's where it differs."""
    from ollama_tts.client import Backoff, Client

    try:
        with Client(backoff=Backoff(retries=0), timeout_s=10) as client:
            found = client.version()
    except OllamaTTSError:
        print("Warning: could not connect to a running ollama-tts server", file=sys.stderr)
        print(f"Warning: client version is {__version__}", file=sys.stderr)
        return
    print(f"ollama-tts version is {found}")
    if found != __version__:
        print(f"Warning: client version is {__version__}", file=sys.stderr)
