"""export: a stored model as one GGUF file, read from this machine's store without a server."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ollama_tts.backends.base import Conversion
from ollama_tts.backends.catalog import Catalog
from ollama_tts.cli.interrupt import signals_end_it
from ollama_tts.cli.progress import ProgressLines
from ollama_tts.cli.sink import whole_file
from ollama_tts.config import Settings
from ollama_tts.names import ModelName
from ollama_tts.protocol.ollama import ProgressResponse
from ollama_tts.service.parameters import STORED, quantization
from ollama_tts.store.store import Store


def export(arguments: argparse.Namespace) -> None:
    """`export MODEL -o FILE [-q Q]`.

    Raises:
        ModelNotFound: It is not in the store.
        InvalidRequest: The model cannot be written so.
        Failed: There is no folder for the file.
        OSError: The file cannot be written; nothing of it is left.
    """
    model = Store(Settings.from_env().models_dir).get(ModelName.parse_reference(arguments.model))
    asked = quantization(arguments.quantize) if arguments.quantize else "auto"
    precision = None if asked == "auto" else STORED.get(asked, asked)
    conversion = Catalog().conversion(
        model.config.model_format, model.files, precision, model.licenses
    )
    with (
        signals_end_it(),
        whole_file(Path(arguments.output)) as file,
        ProgressLines(sys.stderr) as progress,
    ):
        for chunk in _told(conversion, progress):
            file.write(chunk)
    if model.adapters:
        left = ", ".join(sorted(model.adapters))
        print(f"adapters are not part of the file: {left}", file=sys.stderr)


def _told(conversion: Conversion, progress: ProgressLines) -> Iterator[bytes]:
    """The file's pieces; each is told."""
    status = f"exporting {conversion.after} model"
    done = 0
    for chunk in conversion.chunks():
        yield chunk
        done += len(chunk)
        progress(ProgressResponse(status=status, total=conversion.size_bytes, completed=done))
