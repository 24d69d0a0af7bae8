"""create, pull, push, list, ps, cp, rm, stop: the commands that keep models on a server."""

import argparse
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ollama_tts.cli import units
from ollama_tts.cli.progress import ProgressLines
from ollama_tts.client import Backoff, Client
from ollama_tts.errors import NotFound, Unreachable


@contextmanager
def connect() -> Generator[Client]:
    """A client of the server that the environment names.

    Raises:
        Unreachable: Nothing answers there; the text says how to start a server.
    """
    try:
        with Client(backoff=Backoff(retries=0), timeout_s=None) as client:
            yield client
    except Unreachable as error:
        raise Unreachable(f"{error}; `ollama-tts serve` starts a server") from error


def create(arguments: argparse.Namespace) -> None:
    """`create MODEL -f Modelfile [-q Q]`."""
    with connect() as client, ProgressLines(sys.stderr) as progress:
        client.create(
            arguments.model, Path(arguments.file), quantize=arguments.quantize, on_progress=progress
        )


def pull(arguments: argparse.Namespace) -> None:
    """`pull MODEL [--insecure]`."""
    with connect() as client, ProgressLines(sys.stderr) as progress:
        client.pull(arguments.model, progress, insecure=arguments.insecure)


def push(arguments: argparse.Namespace) -> None:
    """`push MODEL [--insecure]`."""
    with connect() as client, ProgressLines(sys.stderr) as progress:
        client.push(arguments.model, progress, insecure=arguments.insecure)


def show_list(arguments: argparse.Namespace) -> None:
    """`list [NAME]`: NAME, ID, SIZE and MODIFIED, newest first."""
    with connect() as client:
        found = client.list()
    now = datetime.now(UTC)
    prefix = arguments.prefix.lower()
    rows = [
        (m.name, m.digest[:12], units.size(m.size), units.ago(m.modified_at, now))
        for m in found
        if m.name.lower().startswith(prefix)
    ]
    print(units.table(("NAME", "ID", "SIZE", "MODIFIED"), rows), end="")


def show_running(arguments: argparse.Namespace) -> None:  # noqa: ARG001  # one shape for all
    """`ps`: the loaded models, where they lie and until when."""
    with connect() as client:
        running = client.ps()
    now = datetime.now(UTC)
    rows = [
        (
            m.name,
            m.digest[:12],
            units.size(m.size),
            units.processor(m.size, m.size_vram),
            str(m.context_length),
            "Stopping..." if m.expires_at < now else units.ago(m.expires_at, now),
        )
        for m in running
    ]
    print(units.table(("NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL"), rows), end="")


def copy(arguments: argparse.Namespace) -> None:
    """`cp SOURCE DESTINATION`."""
    with connect() as client:
        client.copy(arguments.source, arguments.destination)
    print(f"copied '{arguments.source}' to '{arguments.destination}'")


def remove(arguments: argparse.Namespace) -> None:
    """`rm MODEL …`: each is unloaded and removed."""
    with connect() as client:
        for model in arguments.models:
            client.delete(model)
            print(f"deleted '{model}'")


def stop(arguments: argparse.Namespace) -> None:
    """`stop MODEL`."""
    with connect() as client:
        try:
            client.stop(arguments.model)
        except NotFound as error:
            raise NotFound(f'couldn\'t find model "{arguments.model}" to stop') from error
