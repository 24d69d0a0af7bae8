"""Bytes to struct, with Go's own error texts; struct to one line of ASCII.

Matched from Go's encoding/json, which Ollama uses: keys in any case, unknown keys and text behind
the first value ignored, null the same as absent. Stricter than Go in one point: nesting is bounded.
"""

import logging
import re
import types
import typing

import msgspec

from ollama_tts.errors import InvalidRequest
from ollama_tts.protocol.scan import MAX_DEPTH, first_value

log = logging.getLogger(__name__)
T = typing.TypeVar("T", bound=msgspec.Struct)

_BOM = b"\xef\xbb\xbf"
_PATH = re.compile(r"at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_NOT_PLAIN = re.compile(r"[^\x00-\x7f]|[<>&]")
_GO_NAMES: dict[object, str] = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float64",
    object: "interface {}",
}


def decode(body: bytes, kind: type[T]) -> T:
    """The struct that a request body holds.

    Raises:
        InvalidRequest: Empty, malformed, nested too deeply, or a value of a wrong type.
    """
    value = parse(body)
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"json: cannot unmarshal {_json_kind(value)} into Go value of type "
                             f"api.{kind.__name__}")  # fmt: skip
    _tell_unused(value, kind)
    return convert(value, kind)


def _tell_unused(value: dict[str, object], kind: type[msgspec.Struct]) -> None:
    """One log line on fields that mean nothing here: often a setting in the wrong place."""
    known = {name.lower() for name in _fields(kind)}
    unused = [key for key in value if key.lower() not in known]
    if unused:
        log.info("%s: fields not used: %s", kind.__name__, ", ".join(unused)[:200])


def parse(body: bytes) -> object:
    """The first JSON value of a body, as builtin objects.

    Raises:
        InvalidRequest: Empty, malformed or nested too deeply.
    """
    body = body.removeprefix(_BOM)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        value = _parse_slowly(body)
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    return value


def _parse_slowly(body: bytes) -> object:
    text = first_value(body.decode("utf-8", "replace"))
    if not text:
        raise InvalidRequest("missing request body")
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError as error:  # well formed, but a number beyond a double
        raise InvalidRequest(f"json: {str(error).split(' - at ')[0].lower()}") from error


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise InvalidRequest(f"exceeded max depth of {MAX_DEPTH}")


def _children(value: object) -> list[object]:
    members = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return []
    return [child for child in typing.cast("typing.Iterable[object]", members)
            if isinstance(child, dict | list)]  # fmt: skip


def convert(value: dict[str, object], kind: type[T]) -> T:
    """The struct that a decoded object holds.

    Raises:
        InvalidRequest: `json: cannot unmarshal … into Go struct field …`.
    """
    folded = _fold(value, kind)
    try:
        return msgspec.convert(folded, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_mismatch(str(error), folded, kind)) from error


def _fold(value: dict[str, object], kind: type[msgspec.Struct]) -> dict[str, object]:
    """Keys as the struct spells them, in nested structs too; null is left out."""
    spelled = {name.lower(): (name, hint) for name, hint in _fields(kind).items()}
    folded: dict[str, object] = {}
    for key, member in value.items():
        name, hint = spelled.get(key.lower(), (None, None))
        if name is not None and member is not None:
            folded[name] = _fold_member(member, hint)
    return folded


def _fold_member(member: object, hint: object) -> object:
    inner = _struct_of(hint)
    if inner is None:
        return member
    if isinstance(member, list):
        return [_fold(item, inner) if isinstance(item, dict) else item for item in member]
    return _fold(member, inner) if isinstance(member, dict) else member


def _struct_of(hint: object) -> type[msgspec.Struct] | None:
    """The struct in `X`, `X | None` or `list[X]`; None where there is none."""
    for kind in (hint, *typing.get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return kind
    return None


def _fields(kind: type[msgspec.Struct]) -> dict[str, object]:
    """Encoded name to annotation."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def _mismatch(message: str, value: object, kind: type[msgspec.Struct]) -> str:
    """Msgspec's complaint in the words of Go's decoder."""
    found = _PATH.search(message)
    names: list[str] = []
    hint: object = kind
    for name, index in _STEP.findall(found[1] if found else ""):
        value, hint = _step(value, hint, name, index)
        if name and name != "[...]":
            names.append(name)
    return (f"json: cannot unmarshal {_json_kind(value)} into Go struct field "
            f"{kind.__name__}.{'.'.join(names)} of type {_go_type(hint)}")  # fmt: skip


def _step(value: object, hint: object, name: str, index: str) -> tuple[object, object]:
    """One step of a path into a value and its annotation."""
    inner = _struct_of(hint)
    if name and inner is not None:
        return typing.cast("dict[str, object]", value)[name], _fields(inner)[name]
    if index.isdigit():
        return typing.cast("list[object]", value)[int(index)], _member_of(hint, list)
    member = _member_of(hint, dict)
    return _first_wrong(value, member), member


def _first_wrong(value: object, hint: object) -> object:
    """The member of a map (whose key msgspec does not tell) that is not of its type."""
    members = typing.cast("dict[str, object]", value).values()
    wrong = (m for m in members if isinstance(hint, type) and not isinstance(m, hint))
    return next(wrong, value)


def _member_of(hint: object, container: type) -> object:
    """What the list or the dict in an annotation holds."""
    for kind in (hint, *typing.get_args(hint)):
        if typing.get_origin(kind) is container:
            return typing.get_args(kind)[-1]
    return object


def _known(hint: object) -> object:
    """`X` of `X | None`, else the first type of a union, else the annotation itself."""
    if isinstance(hint, types.UnionType):
        return next(kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    return hint


def _go_type(hint: object) -> str:
    hint = _known(hint)
    origin = typing.get_origin(hint)
    if origin is dict:
        return f"map[string]{_go_type(typing.get_args(hint)[1])}"
    if origin is list:
        return f"[]{_go_type(typing.get_args(hint)[0])}"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"api.{hint.__name__.removeprefix('Asked')}"
    return _GO_NAMES.get(hint, str(hint))


def _json_kind(value: object) -> str:
    """What Go calls a value: `number 1.5`, `number` where it is whole, `string`, `bool`."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return f"number {value:g}"
    kinds: dict[type, str] = {int: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def encode(value: object) -> bytes:
    """Compact JSON in ASCII alone: `<`, `>`, `&` and all that is not ASCII are escaped.

    Go escapes the first three. Raw line separators (U+2028, U+0085) would break clients that
    split lines by Unicode's rules.
    """
    data = msgspec.json.encode(value)
    if data.isascii() and b"<" not in data and b">" not in data and b"&" not in data:
        return data
    return _NOT_PLAIN.sub(_escape, data.decode()).encode("ascii")


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def encode_line(value: object) -> bytes:
    """One NDJSON line: `encode` and a line feed."""
    return encode(value) + b"\n"
