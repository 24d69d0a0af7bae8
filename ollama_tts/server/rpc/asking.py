"""What a `TtsRequest` asks for, checked and put into our own terms."""

from dataclasses import replace

from ollama_tts.audio.encode import supported_rate_hz
from ollama_tts.errors import InvalidOption
from ollama_tts.node import Node
from ollama_tts.options import find, parse_text, resolve
from ollama_tts.protocol.fields import keep_alive_s
from ollama_tts.protocol.pb.tts_pb2 import TtsRequest
from ollama_tts.service.events import SpeechRequest

FORMATS = ("opus", "pcm")
DEFAULT_RATE_HZ = 24_000
LONGEST_MS = 86_400_000


class Wishes:
    """What the turns that begin from now on are spoken with. `opus`: packets are wanted."""

    def __init__(self, node: Node, default_model: str, client: str, client_id: str) -> None:
        self._node = node
        self._ask = SpeechRequest(
            default_model, "", client=client, client_id=client_id, surface="grpc"
        )
        self._wanted: dict[str, object] = {}
        self._deadline_ms: int | None = None
        self._settled = False
        self.opus = True

    def take(self, request: TtsRequest) -> None:
        """Model, options, system and keep_alive of a request, where it has them.

        Raises:
            ModelNotFound, InvalidName: The model.
            InvalidOption: An option's value; audio_format that is neither opus nor pcm.
            InvalidRequest: keep_alive that is no duration.
        """
        if not (request.model or request.options or request.keep_alive or _has_system(request)):
            return
        if request.options:
            self._wanted = {name: _value(name, text) for name, text in request.options.items()}
        if request.HasField("system"):
            self._ask = replace(self._ask, system=request.system)
        if request.keep_alive:
            self._ask = replace(self._ask, keep_alive_s=keep_alive_s(request.keep_alive))
        if request.model:
            self._node.models.resolve(request.model)
            self._ask = replace(self._ask, model=request.model)
        self._settle()

    def ask(self, remaining_s: float) -> SpeechRequest:
        """The next turn's request; it must not take longer than the stream's own deadline.

        Raises:
            ModelNotFound: None was named, and there is no default model.
        """
        if not self._settled:
            self._settle()
        if remaining_s * 1000 > LONGEST_MS:
            return self._ask
        left_ms = max(1, int(remaining_s * 1000))
        least_ms = min(left_ms, self._deadline_ms or left_ms)
        return replace(self._ask, options={**self._ask.options, "deadline_ms": least_ms})

    def _settle(self) -> None:
        """Decide format and rate; the service always gives samples, which this door encodes."""
        model = self._node.models.resolve(self._ask.model)
        speech = resolve(model.parameters, self._wanted).speech
        wanted = resolve(self._wanted)
        if "audio_format" in wanted.given and wanted.speech.audio_format not in FORMATS:
            raise InvalidOption(
                f"option 'audio_format' must be one of {', '.join(FORMATS)} over gRPC, "
                f"not {wanted.speech.audio_format!r}"
            )
        self._settled = True
        self._deadline_ms = speech.deadline_ms
        self.opus = speech.audio_format != "pcm"
        options = {**self._wanted, "audio_format": "pcm"}
        if self.opus:
            rate_hz = speech.sample_rate or DEFAULT_RATE_HZ
            options["sample_rate"] = supported_rate_hz("opus", rate_hz)
        self._ask = replace(self._ask, options=options)


def _has_system(request: TtsRequest) -> bool:
    return bool(request.HasField("system"))


def _value(name: str, text: str) -> object:
    """An option's value from its text; names that no table knows are passed on, to be logged."""
    known = find(name) is not None or name.lower() == "fp16"
    return parse_text(name, text) if known else text
