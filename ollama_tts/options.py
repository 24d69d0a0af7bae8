"""The one table of options: PARAMETER, request `options`, `-q`, docs and `show` all read it.

`OPTIONS` lists every option with its type, unit, default, limits and help. `resolve` lays
mappings over each other (defaults < Modelfile < request) and gives typed, frozen values:
`LoadOptions` decide how a model is loaded, `SpeechOptions` how one request sounds.
"""

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ollama_tts.errors import InvalidOption

Kind = Literal["int", "float", "bool", "str", "choice"]
When = Literal["load", "request"]
Value = int | float | bool | str | None

QUANTIZATIONS = ("auto", "fp32", "fp16", "bf16", "int8", "int4")
QUANTIZATION_SPELLINGS: Mapping[str, str] = {
    "f32": "fp32", "float32": "fp32", "f16": "fp16", "float16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "q8_0": "int8", "q8": "int8", "q4_0": "int4", "q4": "int4",
    "latest": "auto",
}  # fmt: skip
AUDIO_FORMATS = ("wav", "pcm", "mp3", "opus", "flac", "aac")


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table.

    `default` None means "the model's own". `minimum` and `maximum` are inclusive unless
    `above` is set (then the value must be greater than `minimum`).
    """

    name: str
    kind: Kind
    when: When
    default: Value
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: bool = False
    choices: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    audible: bool = True

    @property
    def allowed(self) -> str:
        """What the option takes, in words: `"a number from 0.5 to 2.0"`."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind in {"bool", "str"}:
            return {"bool": "true or false", "str": "a text"}[self.kind]
        noun = "an integer" if self.kind == "int" else "a number"
        low = f"{'above' if self.above else 'from'} {_plain(self.minimum)}"
        if self.minimum is not None and self.maximum is not None:
            return f"{noun} {low} to {_plain(self.maximum)}"
        if self.minimum is not None:
            return f"{noun} {low if self.above else _plain(self.minimum) + ' or more'}"
        return noun

    def parse(self, value: object) -> Value:
        """The value in the option's own type.

        Raises:
            InvalidOption: Wrong type or out of range; the text names option, value and limits.
        """
        if self.kind == "bool":
            return self._parse_bool(value)
        if self.kind in {"int", "float"}:
            return self._parse_number(value)
        if not isinstance(value, str) or "\x00" in value or len(value) > 65536:
            raise self._refuse(value)
        return self._parse_choice(value) if self.kind == "choice" else value

    def _parse_bool(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self._refuse(value)

    def _parse_choice(self, value: str) -> str:
        folded = value.strip().lower()
        folded = self.spellings.get(folded, folded)
        if folded not in self.choices:
            raise self._refuse(value)
        return folded

    def _parse_number(self, value: object) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._refuse(value)
        if isinstance(value, int) and value.bit_length() > 128:
            raise self._refuse(value)
        if not math.isfinite(value) or (self.kind == "int" and value != int(value)):
            raise self._refuse(value)
        number = int(value) if self.kind == "int" else float(value)
        low, high = self.minimum, self.maximum
        if low is not None and (number <= low if self.above else number < low):
            raise self._refuse(value)
        if high is not None and number > high:
            raise self._refuse(value)
        return number

    def _refuse(self, value: object) -> InvalidOption:
        return InvalidOption(f"option {self.name!r} must be {self.allowed}, not {shown(value)}")


def shown(value: object) -> str:
    """A value as an error quotes it: at most 80 characters."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 77 digits"  # Python does not print the longest
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _plain(number: float | None) -> str:
    if number is None:
        return ""
    return str(int(number)) if number == int(number) else f"{number:g}"


OPTIONS: tuple[Option, ...] = (
    # how a model is loaded
    Option("quantization", "choice", "load", "auto",
           "Precision of the weights. auto: bf16 on a GPU, the fastest exact enough one on a CPU.",
           choices=QUANTIZATIONS, spellings=QUANTIZATION_SPELLINGS, aliases=("quantize",)),
    Option("num_gpu", "int", "load", -1,
           "Layers on the GPU: -1 all that fit, 0 none (CPU), n the first n.",
           minimum=-1, maximum=1_000_000, aliases=("num_gpu_layers", "gpu_layers")),
    Option("main_gpu", "int", "load", 0, "Index of the GPU to use.", minimum=0, maximum=1024),
    Option("num_ctx", "int", "load", 2048, "Longest utterance, text and sound together.",
           unit="tokens", minimum=64, maximum=4096),
    Option("num_batch", "int", "load", None,
           "Most utterances decoded together. Unset: 64 on a GPU, 16 on a CPU.",
           minimum=1, maximum=64),
    Option("num_thread", "int", "load", None, "Threads of a CPU model. Unset: the machine's cores.",
           minimum=1, maximum=1024),
    Option("compile", "bool", "load", False, "Compile the model where that is possible."),
    Option("flash_attention", "bool", "load", True, "Use fused attention kernels."),
    Option("backend", "choice", "load", "auto", "Which implementation runs the model.",
           choices=("auto", "torch", "native", "reference", "onnx")),
    Option("tone_load_s", "float", "load", 0.0, "Voice `tone` only: pretended load time.",
           unit="s", minimum=0, maximum=600),
    # how one request sounds
    Option("voice", "str", "request", None, "Voice name, `seed:N`, or a speaker string."),
    Option("speed", "float", "request", 1.0, "Speaking rate.", unit="×", minimum=0.5, maximum=2.0),
    Option("language", "choice", "request", "auto", "Language of the text.",
           choices=("auto", "zh", "en", "ja"),
           spellings={"chinese": "zh", "english": "en", "zh-cn": "zh", "en-us": "en",
                      "en-gb": "en", "japanese": "ja"}),
    Option("audio_format", "choice", "request", "wav", "Container and codec of the sound.",
           choices=AUDIO_FORMATS, spellings={"ogg": "opus"}),
    Option("sample_rate", "int", "request", None, "Sample rate of the sound. Unset: the voice's.",
           unit="Hz", minimum=8000, maximum=48000),
    Option("temperature", "float", "request", 0.3, "Sampling temperature; 0 is greedy.",
           minimum=0, maximum=1e9),
    Option("top_k", "int", "request", 20, "Sample from the k likeliest tokens; 0 is no limit.",
           minimum=0, maximum=1_000_000),
    Option("top_p", "float", "request", 0.7, "Sample from the likeliest tokens of this mass.",
           minimum=0, above=True, maximum=1),
    Option("repeat_penalty", "float", "request", 1.05, "Penalty for repeated codes; 1 is none.",
           minimum=0, above=True, maximum=100, aliases=("repetition_penalty",)),
    Option("seed", "int", "request", None,
           "Same seed, same sound, whoever shares the batch. Unset or -1: a new take each time.",
           minimum=-(2**63), maximum=2**63 - 1),
    Option("num_predict", "int", "request", -1,
           "Most codec steps an utterance; -1 or -2: bounded by the text's length.",
           unit="codec steps", minimum=-2, maximum=1_000_000_000_000, aliases=("max_new_token",)),
    Option("min_predict", "int", "request", 0, "Fewest codec steps an utterance.",
           unit="codec steps", minimum=0, maximum=2048, aliases=("min_new_token",)),
    Option("refine_text", "bool", "request", False,
           "ChatTTS: let the model write pauses and laughter into the text first."),
    Option("oral", "int", "request", None, "ChatTTS: how colloquial, 0 to 9.",
           minimum=0, maximum=9),
    Option("laugh", "int", "request", None, "ChatTTS: how much laughter, 0 to 2.",
           minimum=0, maximum=2),
    Option("break", "int", "request", None, "ChatTTS: how many pauses, 0 to 7.",
           minimum=0, maximum=7),
    Option("normalize", "bool", "request", True, "Write numbers, dates, symbols out as words."),
    Option("latency", "choice", "request", "balanced",
           "How soon the first sound leaves: low, balanced, or exact (no approximation).",
           choices=("low", "balanced", "exact")),
    Option("cache", "bool", "request", None, "Use the audio cache. Unset: where sound is fixed.",
           audible=False),
    Option("priority", "int", "request", 0, "Higher goes first.", minimum=-10, maximum=10,
           audible=False),
    Option("deadline_ms", "int", "request", None, "Give up after this long.", unit="ms",
           minimum=1, maximum=86_400_000, audible=False),
    Option("gain_db", "float", "request", 0.0,
           "Louder or softer than the common level; a soft limiter keeps peaks below full scale.",
           unit="dB", minimum=-60, maximum=24),
    Option("denoise", "bool", "request", False,
           "Take steady noise out of voices that continue a recording; others have none."),
    Option("pause_ms", "int", "request", None, "Silence between sentences. Unset: the voice's.",
           unit="ms", minimum=0, maximum=10_000),
    Option("tone_rate", "float", "request", 0.0,
           "Voice `tone` only: real-time factor to pace at; 0 is at once.", unit="×",
           minimum=0, maximum=100, audible=False),
    Option("llm", "str", "request", None,
           "Language model of the Ollama behind this server (`OLLAMA_UPSTREAM`) whose answer "
           "/api/chat and /api/generate speak; unset or empty: the text itself is spoken.",
           audible=False),
    Option("split", "str", "request", None,
           "Models that speak in this one's place, with weights: `a:90,b:10`.",
           audible=False),
    Option("custom_metrics", "bool", "request", False,
           "Count this model's requests by its name, too: `ollama_tts_model_*` in docs/metrics.md.",
           audible=False),
)  # fmt: skip

# Names that Ollama's clients send and that mean nothing to a voice: taken, never warned about.
OLLAMA_ONLY = frozenset({
    "draft_num_predict", "f16_kv", "frequency_penalty", "logits_all", "low_vram", "min_p",
    "mirostat", "mirostat_eta", "mirostat_tau", "num_gqa", "num_keep", "numa",
    "penalize_newline", "presence_penalty", "repeat_last_n", "stop", "tfs_z", "typical_p",
    "use_mlock", "use_mmap", "vocab_only",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a model is loaded; two equal values can share one loaded model. Units: see `OPTIONS`."""

    quantization: str = "auto"
    num_gpu: int = -1
    main_gpu: int = 0
    num_ctx: int = 2048
    num_batch: int | None = None
    num_thread: int | None = None
    compile: bool = False
    flash_attention: bool = True
    backend: str = "auto"
    tone_load_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SpeechOptions:
    """How one request sounds; nothing in it changes while the request lives."""

    voice: str | None = None
    speed: float = 1.0
    language: str = "auto"
    audio_format: str = "wav"
    sample_rate: int | None = None
    temperature: float = 0.3
    top_k: int = 20
    top_p: float = 0.7
    repeat_penalty: float = 1.05
    seed: int | None = None
    num_predict: int = -1
    min_predict: int = 0
    refine_text: bool = False
    oral: int | None = None
    laugh: int | None = None
    break_: int | None = None
    normalize: bool = True
    latency: str = "balanced"
    cache: bool | None = None
    priority: int = 0
    deadline_ms: int | None = None
    gain_db: float = 0.0
    denoise: bool = False
    pause_ms: int | None = None
    tone_rate: float = 0.0
    llm: str | None = None
    split: str | None = None
    custom_metrics: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """All options of one request. `unknown` are names that no table row explains.

    `given` holds the canonical names that some layer set explicitly.
    """

    load: LoadOptions
    speech: SpeechOptions
    given: frozenset[str]
    unknown: tuple[str, ...]


def find(name: str) -> Option | None:
    """The row for a name or an alias, in any case; None where there is none."""
    folded = name.strip().lower()
    for option in OPTIONS:
        if folded == option.name or folded in option.aliases:
            return option
    return None


def resolve(*layers: Mapping[str, object] | None) -> Resolved:
    """Lay option mappings over each other; later layers win, None values mean "not set".

    `fp16: true` is `quantization: fp16`.

    Raises:
        InvalidOption: A known option has a wrong type or is out of range.
    """
    chosen: dict[str, Value] = {}
    unknown: list[str] = []
    for layer in layers:
        for name, raw in (layer or {}).items():
            if raw is not None:
                _place(chosen, unknown, name, raw)
    load = {k: v for k, v in chosen.items() if _is(k, "load")}
    speech = {("break_" if k == "break" else k): v for k, v in chosen.items() if _is(k, "request")}
    if speech.get("seed") == -1:
        speech["seed"] = None
    return Resolved(
        load=LoadOptions(**load),  # type: ignore[arg-type]  # `parse` gave each its own type
        speech=SpeechOptions(**speech),  # type: ignore[arg-type]
        given=frozenset(chosen),
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _place(chosen: dict[str, Value], unknown: list[str], name: str, raw: object) -> None:
    if name.lower() == "fp16":
        if Option("fp16", "bool", "load", None, "").parse(raw):
            chosen["quantization"] = "fp16"
        return
    option = find(name)
    if option is not None:
        chosen[option.name] = option.parse(raw)
    elif name not in OLLAMA_ONLY:
        unknown.append(name)


def _is(name: str, when: When) -> bool:
    option = find(name)
    return option is not None and option.when == when


def check_names(names: Iterable[str]) -> None:
    """Refuse names that a Modelfile may not set.

    Raises:
        InvalidOption: A name is in no table; the text suggests the nearest that is.
    """
    for name in names:
        if find(name) is None and name not in OLLAMA_ONLY and name.lower() != "fp16":
            raise InvalidOption(unknown_parameter(name))


def unknown_parameter(name: str) -> str:
    """The text that refuses an unknown PARAMETER, with the nearest known name."""
    known = [option.name for option in OPTIONS] + [a for o in OPTIONS for a in o.aliases]
    near = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return (
        f"unknown parameter {name!r}{hint} (known: {', '.join(option.name for option in OPTIONS)})"
    )


def parse_text(name: str, text: str) -> Value | list[str]:
    """The typed value of a PARAMETER line, whose value is always text.

    Names of Ollama that mean nothing here keep their text; `stop` becomes a list.

    Raises:
        InvalidOption: An unknown name, or a text that is not of the option's type.
    """
    check_names([name])
    option = find(name)
    if name.lower() == "fp16":
        option = Option("fp16", "bool", "load", None, "")
    if option is None:
        return [text] if name == "stop" else text
    return option.parse(_from_text(option, text))


def _from_text(option: Option, text: str) -> object:
    stripped = text.strip()
    if option.kind == "bool":
        return {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}.get(
            stripped.lower(), text
        )
    if option.kind == "int":
        try:
            return int(stripped, 10)
        except ValueError:
            pass
    if option.kind in {"int", "float"}:
        try:
            return float(stripped)
        except ValueError:
            return text
    return text


def audible(options: SpeechOptions) -> dict[str, Value]:
    """The settings that change what is heard, by name: a part of every audio-cache key."""
    return {
        option.name: getattr(options, "break_" if option.name == "break" else option.name)
        for option in OPTIONS
        if option.when == "request" and option.audible
    }
