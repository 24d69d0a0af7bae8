"""Parameters of a create request, checked against the one table of options."""

from collections.abc import Mapping

from ollama_tts import options
from ollama_tts.errors import InvalidOption
from ollama_tts.modelfile.convert import BOOLS, FLOATS, INTEGERS

MAX_PARAMETERS = 256
MAX_STOPS = 256


def checked(raw: Mapping[str, object]) -> dict[str, object]:
    """The parameters under their canonical names, typed, in order; null means "not given".

    Names that only language models know are kept if Ollama's client knows them today, with its
    types; older ones (`num_gqa`, `mirostat` …) are dropped, as that client drops them.

    Raises:
        InvalidOption: An unknown name (with the nearest known one), a wrong type or range.
    """
    if len(raw) > MAX_PARAMETERS:
        raise InvalidOption(f"a model may have {MAX_PARAMETERS} parameters, not {len(raw)}")
    given = {name: value for name, value in raw.items() if value is not None}
    options.check_names(given)
    found: dict[str, object] = {}
    for name, value in given.items():
        _place(found, name, value)
    return found


def _place(found: dict[str, object], name: str, value: object) -> None:
    option = options.find(name)
    if option is not None:
        found[option.name] = option.parse(value)
    elif name.lower() == "fp16":
        resolved = options.resolve({name: value})
        if "quantization" in resolved.given:
            found["quantization"] = resolved.load.quantization
    elif name == "stop":
        found["stop"] = _stops(value)
    elif name in INTEGERS | FLOATS | BOOLS:
        found[name] = _foreign(name, value)


def _foreign(name: str, value: object) -> object:
    """A value that means nothing to a voice, of the type that Ollama asks for."""
    kind: options.Kind = "int" if name in INTEGERS else "float" if name in FLOATS else "bool"
    return options.Option(name, kind, "request", None, "").parse(value)


def _stops(value: object) -> list[str]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise InvalidOption('option "stop" must be of an array of strings')
    if len(stops) > MAX_STOPS:
        raise InvalidOption(f'option "stop" may have {MAX_STOPS} texts, not {len(stops)}')
    return list(stops)


# What weights are written in for a quantization.
STORED: Mapping[str, str] = {
    "fp32": "F32", "fp16": "F16", "bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0",
}  # fmt: skip
# Types to store weights in that no model is loaded in: it is loaded in what suits the machine.
ONLY_STORED = ("Q5_0",)


def quantization(text: str) -> str:
    """The canonical form of a create request's `quantize`.

    Raises:
        InvalidOption: With Ollama's text and our types.
    """
    option = options.find("quantization")
    assert option is not None
    if text.upper() in ONLY_STORED:
        return text.upper()
    try:
        return str(option.parse(text))
    except InvalidOption as error:
        spelled = (name for name, kind in option.spellings.items() if kind in STORED)
        kept = (name.lower() for name in ONLY_STORED)
        allowed = ", ".join((*STORED, *spelled, *kept))
        raise InvalidOption(
            f"unsupported quantization type {text[:40].upper()} - supported types are {allowed}"
        ) from error


def quantization_of_tag(tag: str) -> str | None:
    """The quantization that a tag names (`q8_0` is int8); None where it names none."""
    option = options.find("quantization")
    assert option is not None
    folded = option.spellings.get(tag.lower(), tag.lower())
    return folded if folded in option.choices and folded != "auto" else None
