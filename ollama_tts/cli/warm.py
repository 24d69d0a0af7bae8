"""warm: the lines of a file are spoken into the server's audio cache."""

import argparse
import sys

from ollama_tts.cli.batch import read_text
from ollama_tts.cli.models import connect
from ollama_tts.cli.progress import ProgressLines


def warm(arguments: argparse.Namespace) -> None:
    """`warm FILE [-m MODEL]`.

    Raises:
        Failed: Some lines could not be spoken; each has been named.
    """
    texts = [line.strip() for line in read_text(arguments.file).splitlines()]
    options = dict(arguments.option)
    if arguments.voice is not None:
        options["voice"] = arguments.voice
    with connect() as client, ProgressLines(sys.stderr, counted=True) as progress:
        client.warm(texts, arguments.model, progress, **options)
