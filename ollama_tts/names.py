"""Names parsed at the edge: `ModelName`, `Digest`, `RelativePath`, `VoiceName`.

Nothing deeper in the program sees a name as plain text, so a path can only be made from parts
that were checked. Rules and texts are Ollama's (types/model/name.go, manifest/paths.go,
internal/modelref).
"""

import hashlib
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from typing_extensions import override

from ollama_tts.errors import InvalidName

DEFAULT_HOST = "registry.ollama.ai"
DEFAULT_NAMESPACE = "library"
DEFAULT_TAG = "latest"

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}")
_NAMESPACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}")
_DIGEST = re.compile(r"sha256[:-]([0-9a-fA-F]{64})")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, always complete: host, namespace, model and tag are filled in.

    Case is kept as written; `folded` is equal for two spellings of one name. The scheme says
    how to reach the host and is no part of the identity.
    """

    model: str
    tag: str = DEFAULT_TAG
    namespace: str = DEFAULT_NAMESPACE
    host: str = DEFAULT_HOST
    scheme: str = field(default="https", compare=False)

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        """The name that `[scheme://][host/][namespace/]model[:tag]` means.

        Raises:
            InvalidName: `invalid model name`, Ollama's text.
        """
        rest, tag = _cut_last(text, ":") if text.rfind(":") > text.rfind("/") else (text, None)
        rest, model = _cut_last(rest, "/")
        if model is None:
            return cls._checked(model=rest, tag=tag)
        rest, namespace = _cut_last(rest, "/")
        if namespace is None:
            return cls._checked(model=model, tag=tag, namespace=rest)
        scheme, separator, host = rest.rpartition("://")
        if separator and not _SCHEME.fullmatch(scheme):
            raise InvalidName("invalid model name")
        name = cls._checked(model=model, tag=tag, namespace=namespace, host=host)
        return replace(name, scheme=scheme.lower()) if separator else name

    @classmethod
    def parse_reference(cls, text: str) -> "ModelName":
        """Like `parse`, for places where a name refers to a model that should be there.

        Outer spaces go, and so does the source selector `:local` (Ollama: `m:local` is `m`).

        Raises:
            InvalidName: The name is not valid, or asks for two sources at once.
        """
        return cls.parse(strip_source(text))

    @classmethod
    def _checked(
        cls,
        *,
        model: str,
        tag: str | None,
        namespace: str = DEFAULT_NAMESPACE,
        host: str = DEFAULT_HOST,
    ) -> "ModelName":
        tag = DEFAULT_TAG if tag is None else tag
        rules = ((_HOST, host), (_NAMESPACE, namespace), (_PART, model), (_PART, tag))
        if not all(rule.fullmatch(part) for rule, part in rules):
            raise InvalidName("invalid model name")
        return cls(model=model, tag=tag, namespace=namespace, host=host)

    @property
    def short(self) -> str:
        """The shortest form that still means this name, always with its tag: `hibari:latest`."""
        if self.host != DEFAULT_HOST:
            return self.full
        if self.namespace != DEFAULT_NAMESPACE:
            return f"{self.namespace}/{self.model}:{self.tag}"
        return f"{self.model}:{self.tag}"

    @property
    def full(self) -> str:
        """All four parts: `registry.ollama.ai/library/hibari:latest`."""
        return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Host, namespace, model, tag: the folders and the file under `manifests/`."""
        return self.host, self.namespace, self.model, self.tag

    @property
    def folded(self) -> tuple[str, str, str, str]:
        """`parts` in lower case, for comparisons."""
        return (
            self.host.lower(),
            self.namespace.lower(),
            self.model.lower(),
            self.tag.lower(),
        )

    @override
    def __str__(self) -> str:
        return self.short


def strip_source(text: str) -> str:
    """`text` trimmed and without the source selector `:local`, in any case.

    Raises:
        InvalidName: Two selectors at once, as in `m:cloud:local`.
    """
    trimmed = text.strip()
    base, selector = _cut_last(trimmed, ":")
    if selector is None or selector.strip().lower() != "local" or not base:
        return trimmed
    _, other = _cut_last(base, ":")
    if other is not None and (other.lower() in {"local", "cloud"} or _ends_in_cloud(other)):
        raise InvalidName(f'use either :local or :cloud, not both: "{trimmed}"')
    return base


def _ends_in_cloud(tag: str) -> bool:
    return "/" not in tag and tag.lower().endswith("-cloud")


def _cut_last(text: str, separator: str) -> tuple[str, str | None]:
    """The text before and after the last separator; after is None where there is none."""
    before, found, after = text.rpartition(separator)
    return (before, after) if found else (text, None)


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A sha256 digest; `hex` is 64 lower-case digits."""

    hex: str

    @classmethod
    def parse(cls, text: str) -> "Digest":
        """The digest that `sha256:<hex>` or `sha256-<hex>` means, in any case.

        Raises:
            InvalidName: `invalid digest format`, Ollama's text.
        """
        match = _DIGEST.fullmatch(text)
        if match is None:
            raise InvalidName("invalid digest format")
        return cls(match[1].lower())

    @classmethod
    def of(cls, data: bytes) -> "Digest":
        """The digest of some bytes."""
        return cls(hashlib.sha256(data).hexdigest())

    @property
    def filename(self) -> str:
        """The blob's name on disk: `sha256-<hex>`."""
        return f"sha256-{self.hex}"

    @property
    def short(self) -> str:
        """The first 12 digits, as progress lines and lists show them."""
        return self.hex[:12]

    @override
    def __str__(self) -> str:
        return f"sha256:{self.hex}"


_MAX_PATH_BYTES = 1024


@dataclass(frozen=True, slots=True, order=True)
class RelativePath:
    """A file's place inside a model, `/`-separated; it can never leave the model's folder."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "RelativePath":
        r"""The path, under the rules of Go's io/fs.ValidPath and a little more.

        No empty element, no `.` and no `..`, so neither absolute nor climbing. Also refused:
        backslashes, drive letters and control characters (a second system would read them
        otherwise), and more than 1,024 bytes.

        Raises:
            InvalidName: `file path must be relative`, Ollama's text, with the path.
        """
        elements = text.split("/")
        climbs = any(element in {"", ".", ".."} for element in elements)
        foreign = "\\" in text or re.match(r"[A-Za-z]:", text) or not text.isprintable()
        if climbs or foreign or _utf8_length(text) > _MAX_PATH_BYTES:
            raise InvalidName(f"file path must be relative: {_shown(text)}")
        return cls(text)

    @property
    def name(self) -> str:
        """The last element."""
        return PurePosixPath(self.text).name

    @property
    def suffix(self) -> str:
        """The ending in lower case with its dot: `.safetensors`."""
        return PurePosixPath(self.text).suffix.lower()

    @override
    def __str__(self) -> str:
        return self.text


_MAX_VOICE_CHARS = 8192


@dataclass(frozen=True, slots=True)
class VoiceName:
    """A voice: a name to look up, `seed:N`, or a speaker string. Never a path."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "VoiceName":
        r"""The voice, if the text can be one.

        Refused whether or not such a file exists: slashes, backslashes, `%` escapes, a leading
        dot, control characters, nothing at all, and more than 8,192 characters.

        Raises:
            InvalidName: With the text and what is allowed.
        """
        bad = not text.strip() or not text.isprintable() or text.startswith(".")
        if bad or len(text) > _MAX_VOICE_CHARS or re.search(r"[/\\]|%[0-9A-Fa-f]{2}", text):
            raise InvalidName(
                f"voice {_shown(text)} is not valid: "
                "give a voice's name, seed:N, or a speaker string"
            )
        return cls(text)

    @override
    def __str__(self) -> str:
        return self.text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _utf8_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
