"""Requests and responses of `/api/*`, as structs.

Fields without a default are always on the wire; the others vanish when they hold their default,
as Go's `omitempty` does. Durations are integer nanoseconds, sizes bytes. What stands here for
sound only is `audio`; all else is Ollama's (api/types.go).
"""

from datetime import datetime

import msgspec

Options = dict[str, object]


class Wire(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The base of all structs: keyword arguments only, defaults are left out when encoded."""


class Message(Wire):
    """One turn of a chat."""

    role: str
    content: str
    thinking: str = ""
    images: list[str] = []
    tool_calls: list[Options] = []
    tool_name: str = ""


class AskedMessage(Wire):
    """One turn of a chat as clients send it: every key may be missing.

    `content` may be a list of parts, as OpenAI's clients write it (`{"type": "text", "text"}`).
    """

    role: str = ""
    content: str | list[Options] = ""
    thinking: str = ""
    images: list[str] = []
    tool_calls: list[Options] = []
    tool_name: str = ""


class SpeakingRequest(Wire):
    """What `/api/generate` and `/api/chat` have in common.

    `keep_alive` and `think` hold what was sent; `protocol.fields` reads them. `format` is any
    JSON and means nothing to a voice.
    """

    model: str = ""
    stream: bool = True
    format: object = None
    keep_alive: object = None
    options: Options = {}
    think: object = None
    logprobs: bool = False
    top_logprobs: int = 0


class GenerateRequest(SpeakingRequest):
    """POST /api/generate."""

    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    context: list[int] = []
    raw: bool = False
    images: list[str] = []


class ChatRequest(SpeakingRequest):
    """POST /api/chat."""

    messages: list[AskedMessage] = []
    tools: list[object] = []


class EmbedRequest(Wire):
    """POST /api/embed. `input` is a text or a list of texts."""

    model: str = ""
    input: object = None


class EmbeddingsRequest(Wire):
    """POST /api/embeddings."""

    model: str = ""
    prompt: str = ""


class NamedRequest(Wire):
    """A request that names one model, under `model` or, in older clients, under `name`."""

    model: str = ""
    name: str = ""

    @property
    def asked(self) -> str:
        """The model's name as the client wrote it: `model` unless empty, then `name`."""
        return self.model or self.name


class ShowRequest(NamedRequest):
    """POST /api/show."""

    system: str = ""
    verbose: bool = False
    options: Options = {}


class DeleteRequest(NamedRequest):
    """DELETE /api/delete."""


class CopyRequest(Wire):
    """POST /api/copy."""

    source: str = ""
    destination: str = ""


class PullRequest(NamedRequest):
    """POST /api/pull."""

    insecure: bool = False
    stream: bool = True


class PushRequest(NamedRequest):
    """POST /api/push."""

    insecure: bool = False
    stream: bool = True


class CreateRequest(NamedRequest):
    """POST /api/create. `files` and `adapters` map relative paths to digests of blobs."""

    stream: bool = True
    from_: str = msgspec.field(default="", name="from")
    files: dict[str, str] | None = None
    adapters: dict[str, str] | None = None
    draft_files: dict[str, str] | None = None
    draft_quantize: str = ""
    quantize: str = ""
    quantization: str = ""
    template: str = ""
    license: str | list[str] = ""
    system: str = ""
    parameters: Options = {}
    messages: list[Message] = []
    renderer: str = ""
    parser: str = ""
    requires: str = ""
    remote_host: str = ""
    info: Options = {}


class AudioPart(Wire):
    """`audio` of a streamed line: where in the answer its sound lies, and what it speaks.

    `text` is the stretch of the prompt that begins to sound in this chunk, once per utterance.
    """

    format: str
    mime_type: str
    sample_rate: int
    channels: int
    start_s: float
    duration_s: float
    text: str


class AudioTotal(Wire):
    """`audio` of the last object: the whole answer in numbers."""

    format: str
    mime_type: str
    sample_rate: int
    channels: int
    duration_s: float
    utterances: int
    cache_hits: int
    first_audio_ms: float
    voice: str
    model_digest: str


class Answer(Wire):
    """What every object of generate and chat has; the figures are on the last one only."""

    model: str
    created_at: str
    done: bool
    done_reason: str = ""
    audio: AudioPart | AudioTotal | None = None
    total_duration: int = 0
    load_duration: int = 0
    prompt_eval_count: int = 0
    prompt_eval_duration: int = 0
    eval_count: int = 0
    eval_duration: int = 0


class GenerateResponse(Answer):
    """One object of /api/generate; `response` is base64 text."""

    response: str


class ChatResponse(Answer):
    """One object of /api/chat; the sound is base64 text in `message.content`."""

    message: Message


class ModelDetails(Wire):
    """`details` of tags, ps and show: the first six keys are always there."""

    parent_model: str
    format: str
    family: str
    families: list[str]
    parameter_size: str
    quantization_level: str
    context_length: int = 0
    embedding_length: int = 0


class ListedModel(Wire):
    """One entry of /api/tags; `digest` is the manifest's sha256 in bare hex."""

    name: str
    model: str
    modified_at: datetime
    size: int
    digest: str
    details: ModelDetails
    capabilities: list[str] = []


class ListResponse(Wire):
    """GET /api/tags, newest first."""

    models: list[ListedModel]


class RunningModel(Wire):
    """One entry of /api/ps."""

    name: str
    model: str
    size: int
    digest: str
    details: ModelDetails
    expires_at: datetime
    size_vram: int
    context_length: int


class ProcessResponse(Wire):
    """GET /api/ps."""

    models: list[RunningModel]


class ShowResponse(Wire):
    """POST /api/show. `parameters` is text, one `name value` a line."""

    details: ModelDetails
    model_info: Options
    modified_at: datetime
    license: str = ""
    modelfile: str = ""
    parameters: str = ""
    template: str = ""
    system: str = ""
    messages: list[Message] = []
    capabilities: list[str] = []
    requires: str = ""


class ProgressResponse(Wire):
    """One line of pull, push and create; the last one's status is `success`."""

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0


class VersionResponse(Wire):
    """GET /api/version."""

    version: str


class CloudStatus(Wire):
    """Whether models of ollama.com are off, and which setting says so."""

    disabled: bool
    source: str


class StatusResponse(Wire):
    """GET /api/status."""

    cloud: CloudStatus


class ErrorResponse(Wire):
    """Every failure of `/api/*`."""

    error: str
