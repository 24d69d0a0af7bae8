"""`Recipe`: a create request, every field checked before anything is done."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ollama_tts import modelfile
from ollama_tts.errors import (
    InvalidModelfile,
    InvalidName,
    InvalidRequest,
    TooLarge,
    Unsupported,
)
from ollama_tts.modelfile.grammar import ROLES
from ollama_tts.names import Digest, ModelName, RelativePath
from ollama_tts.protocol.ollama import CreateRequest
from ollama_tts.service.parameters import ONLY_STORED, STORED, checked, quantization
from ollama_tts.service.template import Template
from ollama_tts.store.manifests import MAX_LAYERS
from ollama_tts.store.model import Message

MAX_TEMPLATE_CHARS = 64 * 1024
MAX_FILES = MAX_LAYERS // 2
_TEXT_INFO = ("model_family", "base_name", "quantization_level", "parameter_size")
_COUNT_INFO = ("context_length", "embedding_length")


@dataclass(frozen=True, slots=True)
class Info:
    """The fields of `info` that change the config; empty and zero mean "not given"."""

    model_family: str = ""
    base_name: str = ""
    quantization_level: str = ""
    parameter_size: str = ""
    context_length: int = 0
    embedding_length: int = 0
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to make. `base` is the model to start from; empty texts mean "not given".

    `precision` is what the weights are written in, as `Q8_0`; empty: they stay what they are.
    """

    name: ModelName
    base: ModelName | None
    files: Mapping[str, Digest]
    adapters: Mapping[str, Digest]
    parameters: Mapping[str, object]
    template: str
    system: str
    licenses: tuple[str, ...]
    messages: tuple[Message, ...]
    requires: str
    info: Info
    precision: str = ""


def read_recipe(request: CreateRequest) -> Recipe:
    """The recipe of a create request, in the order in which Ollama checks.

    Raises:
        InvalidRequest: With Ollama's text where it has one; nothing was done.
        Unsupported: Draft and remote models.
    """
    request = _with_modelfile(request)
    quantize = _quantize(request)
    name = ModelName.parse(request.asked)
    _refuse_unsupported(request)
    files = _digests(request.files or {})
    adapters = _digests(request.adapters or {})
    if not request.from_:
        _need_files(request)
    if request.template:
        _check_template(request.template)
    return Recipe(
        name=name,
        base=_base(request.from_),
        files=files,
        adapters=adapters,
        parameters=_parameters(request, quantize),
        template=request.template,
        system=request.system,
        licenses=_licenses(request.license),
        messages=tuple(_message(m.role, m.content) for m in request.messages),
        requires=request.requires.removeprefix("v"),
        info=_info(request.info),
        precision=STORED.get(quantize, quantize.removeprefix("auto")),
    )


def _with_modelfile(request: CreateRequest) -> CreateRequest:
    """The request with what its `modelfile` text says, as clients before 2025 send it."""
    if not request.modelfile:
        return request
    try:
        parts = modelfile.to_create_request(modelfile.parse(request.modelfile))
    except InvalidModelfile as error:
        raise InvalidModelfile(error.explained, error.line) from error
    given = msgspec.structs.asdict(request)
    asked = msgspec.convert({"name": request.asked, **parts.fields()}, CreateRequest)
    over = {
        key: value
        for key, value in msgspec.structs.asdict(asked).items()
        if value and not given[key]
    }
    over["parameters"] = {**asked.parameters, **request.parameters}
    return msgspec.structs.replace(request, **over)


def _refuse_unsupported(request: CreateRequest) -> None:
    if request.draft_quantize and not request.draft_files:
        raise InvalidRequest("--draft-quantize requires a DRAFT model")
    if request.draft_files:
        raise Unsupported("DRAFT is not supported: no voice speaks with a draft model")
    if request.remote_host:
        raise Unsupported("remote models are not supported")


def _need_files(request: CreateRequest) -> None:
    if request.files is None:
        raise InvalidRequest("neither 'from' or 'files' was specified")
    if not request.files:
        raise InvalidRequest("unknown type: 'files' is empty")


def _digests(raw: Mapping[str, str]) -> dict[str, Digest]:
    if len(raw) > MAX_FILES:
        raise TooLarge(f"a model may have {MAX_FILES} files, not {len(raw)}")
    paths = {RelativePath.parse(name).text: digest for name, digest in raw.items()}
    return {name: Digest.parse(digest) for name, digest in paths.items()}


def _base(text: str) -> ModelName | None:
    if not text:
        return None
    try:
        return ModelName.parse_reference(text)
    except InvalidName as error:
        raise InvalidName("invalid model name") from error


def _quantize(request: CreateRequest) -> str:
    """The quantization that is asked for, canonical; empty where none is."""
    asked = request.quantize or request.quantization
    return quantization(asked) if asked else ""


def _parameters(request: CreateRequest, quantize: str) -> dict[str, object]:
    """The parameters; what the weights are written in, they are loaded in, where that exists."""
    found = checked(request.parameters)
    loaded = quantize not in {"", *ONLY_STORED}
    return {**found, "quantization": quantize} if loaded else found


def _check_template(text: str) -> None:
    if len(text) > MAX_TEMPLATE_CHARS:
        raise TooLarge(f"a template may have {MAX_TEMPLATE_CHARS} characters, not {len(text)}")
    Template.parse(text)


def _licenses(raw: str | list[str]) -> tuple[str, ...]:
    return tuple(text for text in ([raw] if isinstance(raw, str) else raw) if text)


def _message(role: str, content: str) -> Message:
    if role not in ROLES:
        raise InvalidRequest(f'message role must be one of {", ".join(ROLES)}, not "{role[:40]}"')
    return Message(role, content)


def _info(raw: Mapping[str, object]) -> Info:
    fields: dict[str, object] = {key: _text(key, raw[key]) for key in _TEXT_INFO if key in raw}
    fields |= {key: _count(key, raw[key]) for key in _COUNT_INFO if key in raw}
    if "capabilities" in raw:
        fields["capabilities"] = _capabilities(raw["capabilities"])
    return msgspec.convert(fields, Info)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f'info field "{key}" must be a string')
    return value


def _count(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f'info field "{key}" must be a number')
    if value < 0 or value > 2**53 or value != int(value):
        raise InvalidRequest(f'info field "{key}" must be a non-negative integer')
    return int(value)


def _capabilities(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    found = [text for text in texts if isinstance(text, str) and re.fullmatch(r"[a-z_]+", text)]
    if len(found) != len(texts) or len(found) > 32:
        raise InvalidRequest('info field "capabilities" must be a list of words')
    return tuple(found)
