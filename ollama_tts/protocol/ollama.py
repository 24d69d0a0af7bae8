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


class Message(Wire, kw_only=True):
    """One turn of a chat."""

    role: str
    content: str
    thinking: str = ""
    images: list[str] = []
    tool_calls: list[Options] = []
    tool_name: str = ""


class AskedMessage(Wire, kw_only=True):
    """One turn of a chat as clients send it: every key may be missing.

    `content` may be a list of parts, as OpenAI's clients write it (`{"type": "text", "text"}`).
    """

    role: str = ""
    content: str | list[Options] = ""
    thinking: str = ""
    images: list[str] = []
    tool_calls: list[Options] = []
    tool_name: str = ""


class SpeakingRequest(Wire, kw_only=True):
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


class GenerateRequest(SpeakingRequest, kw_only=True):
    """POST /api/generate."""

    prompt: str = ""
    suffix: str = ""
    system: str = ""
    template: str = ""
    context: list[int] = []
    raw: bool = False
    images: list[str] = []


class ChatRequest(SpeakingRequest, kw_only=True):
    """POST /api/chat."""

    messages: list[AskedMessage] = []
    tools: list[object] = []


class EmbedRequest(Wire, kw_only=True):
    """POST /api/embed. `input` is a text or a list of texts."""

    model: str = ""
    input: object = None


class EmbeddingsRequest(Wire, kw_only=True):
    """POST /api/embeddings."""

    model: str = ""
    prompt: str = ""


class NamedRequest(Wire, kw_only=True):
    """A request that names one model, under `model` or, in older clients, under `name`."""

    model: str = ""
    name: str = ""

    @property
    def asked(self) -> str:
        """The model's name as the client wrote it: `model` unless empty, then `name`."""
        return self.model or self.name


class ShowRequest(NamedRequest, kw_only=True):
    """POST /api/show."""

    system: str = ""
    verbose: bool = False
    options: Options = {}


class DeleteRequest(NamedRequest, kw_only=True):
    """DELETE /api/delete."""


class CopyRequest(Wire, kw_only=True):
    """POST /api/copy."""

    source: str = ""
    destination: str = ""


class PullRequest(NamedRequest, kw_only=True):
    """POST /api/pull."""

    insecure: bool = False
    stream: bool = True


class PushRequest(NamedRequest, kw_only=True):
    """POST /api/push."""

    insecure: bool = False
    stream: bool = True


class CreateRequest(NamedRequest, kw_only=True):
    """POST /api/create. `files` and `adapters` map relative paths to digests of blobs.

    `modelfile` is a Modelfile's text, as clients before 2025 send it.
    """

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
    modelfile: str = ""


class Audio(Wire, kw_only=True):
    """`audio`: on a chunk where its sound lies (`start_s`, `text`), on the last object the rest.

    `text` is the stretch of the prompt that begins to sound in this chunk, once per utterance.
    On the last object `duration_s` is that of the whole answer.
    """

    format: str
    mime_type: str
    sample_rate: int
    channels: int
    duration_s: float
    start_s: float | None = None
    text: str | None = None
    utterances: int | None = None
    cache_hits: int | None = None
    first_audio_ms: float | None = None
    voice: str | None = None
    model_digest: str | None = None


class Answer(Wire, kw_only=True):
    """What every object of generate and chat has; the figures are on the last one only."""

    model: str
    created_at: str
    done: bool
    done_reason: str = ""
    audio: Audio | None = None
    total_duration: int = 0
    load_duration: int = 0
    prompt_eval_count: int = 0
    prompt_eval_duration: int = 0
    eval_count: int = 0
    eval_duration: int = 0


class GenerateResponse(Answer, kw_only=True):
    """One object of /api/generate; `response` is base64 text.

    `thinking` is what a language model wrote, whose answer is spoken; in a chat the message's.
    """

    response: str
    thinking: str = ""


class ChatResponse(Answer, kw_only=True):
    """One object of /api/chat; the sound is base64 text in `message.content`."""

    message: Message


class ModelDetails(Wire, kw_only=True):
    """`details` of tags, ps and show: the first six keys are always there."""

    parent_model: str
    format: str
    family: str
    families: list[str]
    parameter_size: str
    quantization_level: str
    context_length: int = 0
    embedding_length: int = 0


class ListedModel(Wire, kw_only=True):
    """One entry of /api/tags; `digest` is the manifest's sha256 in bare hex."""

    name: str
    model: str
    modified_at: datetime
    size: int
    digest: str
    details: ModelDetails
    capabilities: list[str] = []


class ListResponse(Wire, kw_only=True):
    """GET /api/tags, newest first."""

    models: list[ListedModel]


class RunningModel(Wire, kw_only=True):
    """One entry of /api/ps.

    `shares` is ours: the row whose memory this model speaks on; `size` is then what it adds.
    """

    name: str
    model: str
    size: int
    digest: str
    details: ModelDetails
    expires_at: datetime
    size_vram: int
    context_length: int
    shares: str = ""


class ProcessResponse(Wire, kw_only=True):
    """GET /api/ps."""

    models: list[RunningModel]


class Tensor(Wire, kw_only=True):
    """One of a model's tensors; `shape` is innermost first, as in GGUF."""

    name: str
    type: str
    shape: list[int]


class ShowResponse(Wire, kw_only=True):
    """POST /api/show. `parameters` is text, one `name value` a line; `tensors` for `verbose`."""

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
    tensors: list[Tensor] = []
    requires: str = ""


class ProgressResponse(Wire, kw_only=True):
    """One line of pull, push and create; the last one's status is `success`."""

    status: str
    digest: str = ""
    total: int = 0
    completed: int = 0


class VersionResponse(Wire, kw_only=True):
    """GET /api/version."""

    version: str


class CloudStatus(Wire, kw_only=True):
    """Whether models of ollama.com are off, and which setting says so."""

    disabled: bool
    source: str


class StatusResponse(Wire, kw_only=True):
    """GET /api/status."""

    cloud: CloudStatus


class ErrorResponse(Wire, kw_only=True):
    """Every failure of `/api/*`."""

    error: str
