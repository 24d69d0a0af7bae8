"""Commands to the parts of a create request, as `ollama create` converts them (parser.go).

Where a voice needs more, it is more: our options are parameters as well, typed by their table.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ollama_tts import options
from ollama_tts.errors import InvalidModelfile, InvalidName, InvalidOption
from ollama_tts.modelfile.grammar import Command
from ollama_tts.modelfile.tree import collect, expand
from ollama_tts.names import ModelName

# Ollama's client drops these and says so (api/types.go).
DEPRECATED = frozenset({
    "f16_kv", "logits_all", "low_vram", "mirostat", "mirostat_eta", "mirostat_tau",
    "penalize_newline", "use_mlock", "vocab_only",
})  # fmt: skip
# The twenty names that Ollama's client takes today, by type; `stop` is a list of texts.
INTEGERS = frozenset({
    "draft_num_predict", "main_gpu", "num_batch", "num_ctx", "num_gpu", "num_keep",
    "num_predict", "num_thread", "repeat_last_n", "seed", "top_k",
})  # fmt: skip
FLOATS = frozenset({
    "frequency_penalty", "min_p", "presence_penalty", "repeat_penalty", "temperature", "top_p",
    "typical_p",
})  # fmt: skip
BOOLS = frozenset({"use_mmap"})
_FOREIGN: Mapping[str, options.Kind] = {
    **dict.fromkeys(INTEGERS, "int"),
    **dict.fromkeys(FLOATS, "float"),
    **dict.fromkeys(BOOLS, "bool"),
    "fp16": "bool",
    "stop": "str",
}
_BOOLS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}(?:\.0*)?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SEMVER = re.compile(r"v?([0-9]+(?:\.[0-9]+){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)")


@dataclass(slots=True)
class CreateParts:
    """What a Modelfile asks for. `files` and `adapters` are still files on this machine.

    `warnings` are lines to show a person.
    """

    from_: str = ""
    files: dict[str, Path] = field(default_factory=dict)
    adapters: dict[str, Path] = field(default_factory=dict)
    template: str = ""
    system: str = ""
    renderer: str = ""
    parser: str = ""
    requires: str = ""
    licenses: list[str] = field(default_factory=list)
    parameters: dict[str, object] = field(default_factory=dict)
    messages: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, object]:
        """The fields of the JSON body, empty ones left out; files and adapters are not in it."""
        messages = [{"role": role, "content": content} for role, content in self.messages]
        body: dict[str, object] = {
            "from": self.from_, "template": self.template, "system": self.system,
            "renderer": self.renderer, "parser": self.parser, "requires": self.requires,
            "license": self.licenses, "parameters": self.parameters, "messages": messages,
        }  # fmt: skip
        return {key: value for key, value in body.items() if value}


def to_create_request(commands: Iterable[Command], base: Path | None = None) -> CreateParts:
    """What a Modelfile in folder `base` asks for.

    With `base` None nothing on this machine is looked at: FROM is a model's name (a server
    that parses somebody else's text must not read its own files for it).

    Raises:
        InvalidModelfile: A parameter that is unknown or of the wrong type, a path that is not
            there, a version that is none; with the line.
    """
    parts = CreateParts()
    for command in commands:
        try:
            _ACTIONS.get(command.name, _parameter)(parts, command, base)
        except InvalidModelfile as error:
            raise InvalidModelfile(str(error), command.line or None, error.detail) from error
    return parts


def _model(parts: CreateParts, command: Command, base: Path | None) -> None:
    path = None if base is None else expand(command.args, base)
    if path is None or not command.args or not path.exists():
        parts.from_ = command.args
        return
    try:
        found = collect(path)
    except InvalidModelfile:
        if not path.is_dir() or not _is_name(command.args):
            raise
        parts.from_ = command.args  # a folder of that name lies here, but it is no model
        return
    _add(parts.files, found)


def _is_name(text: str) -> bool:
    try:
        return bool(ModelName.parse(text))
    except InvalidName:
        return False


def _adapter(parts: CreateParts, command: Command, base: Path | None) -> None:
    if base is None:
        raise InvalidModelfile(
            "ADAPTER needs a file", detail="upload it and name it in the field `adapters`"
        )
    path = expand(command.args, base)
    if not path.exists():
        raise InvalidModelfile(f"stat {command.args}: no such file or directory")
    _add(parts.adapters, collect(path))


def _add(known: dict[str, Path], found: Mapping[str, Path]) -> None:
    for name, path in found.items():
        if known.get(name, path) != path:
            raise InvalidModelfile(f"two files are called {name!r}")
        known[name] = path


def _text(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    setattr(parts, command.name, command.args)


def _license(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    parts.licenses.append(command.args)


def _message(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    role, _, content = command.args.partition(": ")
    parts.messages.append((role, content))


def _requires(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    match = _SEMVER.fullmatch(command.args)
    if match is None:
        raise InvalidModelfile("requires must be a valid semver (e.g. 0.14.0)")
    parts.requires = match[1]


def _draft(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    raise InvalidModelfile("DRAFT is not supported", detail="no voice speaks with a draft model")


def _parameter(parts: CreateParts, command: Command, base: Path | None) -> None:  # noqa: ARG001
    if command.name in DEPRECATED:
        parts.warnings.append(f"warning: parameter {command.name} is deprecated")
        return
    value = parse_parameter(command.name, command.args)
    if command.name == "stop":
        stops = parts.parameters.setdefault("stop", [])
        assert isinstance(stops, list)
        stops.append(command.args)
    else:
        parts.parameters[command.name] = value


def parse_parameter(name: str, text: str) -> object:
    """The typed value of a PARAMETER line.

    Names are Ollama's or ours, in lower case; values are checked against the table of options.

    Raises:
        InvalidModelfile: Ollama's text, then what is allowed.
    """
    option = _row(name)
    if option is None:
        raise InvalidModelfile(*_unknown(name))
    value = _typed(option.kind, text)
    if value is None:
        raise InvalidModelfile(
            f"invalid {option.kind} value [{text[:40]}]",
            detail=f"option {name!r} must be {option.allowed}",
        )
    try:
        return option.parse(value)
    except InvalidOption as error:
        raise InvalidModelfile(str(error)) from error


def _row(name: str) -> options.Option | None:
    """The row of the table, or one for a name that means something to Ollama's client only."""
    option = options.find(name) if name == name.lower() else None
    kind = _FOREIGN.get(name)
    if option is None and kind is not None:
        return options.Option(name, kind, "request", None, "")
    return option


def _typed(kind: options.Kind, text: str) -> object:
    """The text as a value of its kind; None where it is none."""
    if kind == "bool":
        return _BOOLS.get(text.lower())
    if kind == "int":
        return int(text.partition(".")[0]) if _INTEGER.fullmatch(text) else None
    if kind == "float":
        return float(text) if _FLOAT.fullmatch(text) else None
    return text


def _unknown(name: str) -> tuple[str, None, str]:
    message, separator, hint = options.unknown_parameter(name).partition("; ")
    if not name:
        hint = "one blank stands between PARAMETER and the name"
    return message, None, hint if separator or not name else ""


_ACTIONS: Mapping[str, Callable[[CreateParts, Command, Path | None], None]] = {
    "model": _model, "adapter": _adapter, "draft": _draft, "license": _license,
    "message": _message, "parser": _text, "renderer": _text, "requires": _requires,
    "system": _text, "template": _text,
}  # fmt: skip
