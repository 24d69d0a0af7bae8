"""One exception class per cause that a caller can act on.

No HTTP here: each door holds one table from class to status (`server/http/errors.py`).

    OllamaTTSError
    ├── InvalidRequest            the caller sent something that cannot be meant
    │   ├── InvalidName           a model name, digest or relative path
    │   ├── InvalidOption         an option's value
    │   ├── InvalidModelfile      Modelfile text, with its line
    │   ├── InvalidWeights        model files that are damaged or hostile
    │   ├── UnspeakableText       text that this voice cannot say
    │   └── Unsupported           a thing that this model or server does not do
    ├── TooLarge                  a body or a count over its documented limit
    ├── Unauthorized              a key is needed, or a registry refuses
    ├── Forbidden                 Host or Origin not allowed
    ├── NotFound
    │   ├── ModelNotFound
    │   └── BlobNotFound
    ├── Busy                      a queue is full; `retry_after_s` says when to come again
    │   └── TooMany               one caller asks too often
    ├── OutOfMemory               no memory for even one utterance
    ├── DeadlineExceeded          the caller's own deadline passed
    ├── Cancelled                 the work was cancelled before it ended
    └── Failed                    our side
        ├── DigestMismatch
        ├── StoreFailed           read-only store, I/O error …
        │   └── StoreFull         no space left
        ├── LoadFailed
        ├── GenerationFailed      one utterance could not be made
        ├── EngineDead            the engine's thread ended
        ├── BatchFailed           some texts of a batch; the others' sound is kept
        └── UpstreamFailed        a registry or a remote model
            ├── Unreachable       nothing answers at the address
            └── OllamaFailed      the Ollama behind this server, or a language model there
"""

from collections.abc import Mapping, Sequence


class OllamaTTSError(Exception):
    """The root: everything this package raises on purpose."""


class InvalidRequest(OllamaTTSError):
    """The request cannot be carried out as it stands; nothing was done."""


class InvalidName(InvalidRequest):
    """A model name, digest, voice name or relative path does not parse."""


class InvalidOption(InvalidRequest):
    """An option has a wrong type or is out of range; the text names option, value and limits."""


class InvalidModelfile(InvalidRequest):
    """Modelfile text does not parse; `line` is 1-based, or None where no line is to blame.

    The message is Ollama's own text. `detail` adds the word that was read and what is allowed.
    """

    def __init__(self, message: str, line: int | None = None, detail: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.detail = detail

    @property
    def explained(self) -> str:
        """The message for people: the true line (CRLF counts once), then the detail."""
        text = str(self).partition("): ")[2] if str(self).startswith("(line ") else str(self)
        place = f"(line {self.line}): " if self.line is not None else ""
        return f"{place}{text}{'; ' if self.detail else ''}{self.detail}"


class InvalidWeights(InvalidRequest):
    """Model files are damaged, incomplete or hostile."""


class UnspeakableText(InvalidRequest):
    """This voice cannot say this text; the message names voices that can."""


class Unsupported(InvalidRequest):
    """The model or the server does not do this."""


class TooLarge(OllamaTTSError):
    """A body or a count is over its documented limit."""


class Unauthorized(OllamaTTSError):
    """A key is missing or wrong, or a registry refuses."""


class Forbidden(OllamaTTSError):
    """The Host or the Origin is not allowed; the text names the setting that allows it."""


class NotFound(OllamaTTSError):
    """Something that was named does not exist."""


class ModelNotFound(NotFound):
    """No manifest of that name is in the store."""


class BlobNotFound(NotFound):
    """No blob of that digest is in the store."""


class Busy(OllamaTTSError):
    """A queue is full. `retry_after_s` is a whole number of seconds, at least 1."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = max(1, retry_after_s)


class TooMany(Busy):
    """This caller asks more often than the server allows; others may be served meanwhile."""


class OutOfMemory(OllamaTTSError):
    """There is no memory for even one utterance."""


class DeadlineExceeded(OllamaTTSError):
    """The caller's own deadline passed before the work ended."""


class Cancelled(OllamaTTSError):
    """The work was cancelled before it ended."""


class Failed(OllamaTTSError):
    """Something on our side went wrong."""


class DigestMismatch(Failed):
    """Bytes do not hash to the digest they were announced under."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(f'digest mismatch, expected "{expected}", got "{got}"')
        self.expected = expected
        self.got = got


class StoreFailed(Failed):
    """The store could not be read or written (read-only, I/O error …)."""


class StoreFull(StoreFailed):
    """There is no space left for what was to be written."""


class LoadFailed(Failed):
    """A model's files are there but could not be loaded."""


class GenerationFailed(Failed):
    """One utterance could not be made."""


class EngineDead(Failed):
    """The engine's thread ended; the next request loads the model anew."""


class UpstreamFailed(Failed):
    """A registry or a remote model did not answer as it should."""


class Unreachable(UpstreamFailed):
    """Nothing answers at the address, or the connection broke before an answer."""


class OllamaFailed(UpstreamFailed):
    """The Ollama behind this server did not answer, or a language model there failed."""


class BatchFailed(Failed):
    """Some texts of a batch could not be spoken.

    `results` has one entry a text, in order: its sound, or None where it failed; `failures` maps
    the positions of those to their causes.
    """

    def __init__(
        self, results: Sequence[bytes | None], failures: Mapping[int, OllamaTTSError]
    ) -> None:
        named = "; ".join(f"text {index}: {error}" for index, error in sorted(failures.items())[:5])
        more = f"; and {len(failures) - 5} more" if len(failures) > 5 else ""
        super().__init__(f"{len(failures)} of {len(results)} texts failed: {named}{more}")
        self.results = results
        self.failures = failures
