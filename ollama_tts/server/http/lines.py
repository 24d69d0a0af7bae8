"""`LineForm`: the NDJSON lines of one streamed answer.

All lines but the last hold the same fields in the same order, so one is encoded as every other
object is, and becomes a form that each line fills in. Encoding every line as an object of its own
takes several times as long.
"""

from collections.abc import Iterator

from ollama_tts.audio.lines import JSON_LINE_END, Base64Lines
from ollama_tts.protocol.codec import encode, encode_line
from ollama_tts.server.http.objects import Shape, now_text, part_audio, part_text
from ollama_tts.service.events import AudioChunk, SpeechStarted

STREAM_LINES = 40
"""Base64 lines of one NDJSON line: 1,920 bytes, 40 ms of 16-bit sound at 24 kHz."""

_MAX_WRITTEN_CHARS = 3000  # 12 bytes each at worst, of what a language model wrote


class LineForm:
    """Writes the chunks of one answer as lines."""

    def __init__(self, shape: Shape, started: SpeechStarted) -> None:
        self._form = _form(shape, started)
        self._base64 = Base64Lines(JSON_LINE_END)

    def lines(self, chunk: AudioChunk) -> bytes:
        """The lines of one chunk, one at least.

        What the chunk says stands on the first with sound, its time is shared out by the length
        of the pieces. More `written` than fits stands on lines without sound before.
        """
        return self._filled(self._base64.feed(chunk.data), chunk)

    def last_lines(self, at_s: float) -> bytes:
        """The line with the sound that was held back because it fills none; or nothing."""
        rest = self._base64.finish()
        return self._filled(rest, AudioChunk(b"", at_s, 0.0)) if rest else b""

    def _filled(self, text: bytes, chunk: AudioChunk) -> bytes:
        stamp = now_text().encode()
        said, start_s = encode(part_text(chunk)), chunk.start_s
        *before, here = _thoughts(chunk.written)
        lines = [self._form % (stamp, 0.0, start_s, b'""', b"", thought) for thought in before]
        for piece in self._base64.pieces(text, STREAM_LINES) or [b""]:
            share_s = chunk.duration_s * (len(piece) / len(text) if text else 1)
            lines.append(self._form % (stamp, share_s, start_s, said, piece, here))
            start_s += share_s
            said, here = b'""', b""
        return b"".join(lines)


def _form(shape: Shape, started: SpeechStarted) -> bytes:
    """A line to be filled in: stamp, duration, start, JSON text, base64 text, rest of the object.

    The model's name, which may hold anything, goes in when everything else has its place.
    """
    nobody = Shape("", chat=shape.chat)
    form = encode_line(nobody.part("", part_audio(started, AudioChunk(b"", 0.0, 0.0)), stamp="-"))
    content = b'"content":""' if shape.chat else b'"response":""'
    for given, place in (
        (b'"created_at":"-"', b'"created_at":"%b"'),
        (b'"duration_s":0.0', b'"duration_s":%.6f'),
        (b'"start_s":0.0', b'"start_s":%.6f'),
        (b'"text":""', b'"text":%b'),
        (content, content[:-1] + b'%b"%b'),
        (b'"model":""', b'"model":' + encode(shape.model).replace(b"%", b"%%")),
    ):
        assert form.count(given) == 1
        form = form.replace(given, place)
    return form


def _thoughts(written: str) -> Iterator[bytes]:
    """The field `thinking` in stretches that fit a line; b"" where nothing was written."""
    for start in range(0, len(written) or 1, _MAX_WRITTEN_CHARS):
        part = written[start : start + _MAX_WRITTEN_CHARS]
        yield b',"thinking":' + encode(part) if part else b""
