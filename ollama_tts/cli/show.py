"""show: what is known of a model, in sections as `ollama show` prints them."""

import argparse
from collections.abc import Iterator, Mapping

from ollama_tts.cli.models import connect
from ollama_tts.protocol.ollama import ShowResponse


def show(arguments: argparse.Namespace) -> None:
    """`show MODEL`, or one part of it: `--modelfile`, `--license` and so on."""
    with connect() as client:
        model = client.show(arguments.model, verbose=arguments.verbose)
    if arguments.part is None:
        print("\n".join(sections(model, verbose=arguments.verbose)))
        return
    print(getattr(model, arguments.part))


def sections(model: ShowResponse, *, verbose: bool) -> Iterator[str]:
    """Model, Capabilities, Parameters, System, License, each with a blank line after it.

    With `verbose`, Metadata and Tensors too.
    """
    yield from _section("Model", list(_facts(model)))
    yield from _section("Capabilities", [(name,) for name in model.capabilities])
    yield from _section("Parameters", [_two(line) for line in model.parameters.splitlines()])
    if verbose:
        yield from _section("Metadata", [(k, _short(v)) for k, v in model.model_info.items()])
    yield from _section("Tensors", [(t.name, t.type, str(t.shape)) for t in model.tensors])
    yield from _section("System", [(line,) for line in _first_lines(model.system)])
    yield from _section("License", [(line,) for line in _first_lines(model.license)])


def _facts(model: ShowResponse) -> Iterator[tuple[str, ...]]:
    info = model.model_info
    architecture = str(info.get("general.architecture") or model.details.family)
    yield ("architecture", architecture)
    if model.details.parameter_size:
        yield ("parameters", model.details.parameter_size)
    elif isinstance(info.get("general.parameter_count"), int | float):
        yield ("parameters", str(info["general.parameter_count"]))
    for key, words in (
        ("context_length", "context length"),
        ("embedding_length", "embedding length"),
    ):
        if info.get(f"{architecture}.{key}"):
            yield (words, _short(info[f"{architecture}.{key}"]))
    yield ("quantization", model.details.quantization_level)
    if model.requires:
        yield ("requires", model.requires)


def _section(title: str, rows: list[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    width = max(len(row[0]) for row in rows)
    yield f"  {title}"
    for row in rows:
        yield ("    " + "    ".join((row[0].ljust(width), *row[1:]))).rstrip()
    yield ""


def _two(line: str) -> tuple[str, ...]:
    return tuple(line.split(None, 1))


def _first_lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines if len(lines) <= 2 else [*lines[:2], "..."]


def _short(value: object) -> str:
    if isinstance(value, list | Mapping):
        text = ", ".join(str(part) for part in value)
        return text if len(text) <= 60 else text[:57] + "..."
    return str(value)
