"""Frames of the WebSocket conversation `/api/speak`: JSON text frames, told apart by `type`."""

from typing import Annotated

import msgspec

Options = dict[str, object]
Stamp = Annotated[str, msgspec.Meta(max_length=64)] | int | float | None
"""A client's own time stamp; it comes back as it was sent."""


class Start(msgspec.Struct, tag="start", kw_only=True):
    """Model and options of the turns that follow. Before the first turn, or between turns."""

    model: str = ""
    options: Options = {}
    system: str | None = None
    keep_alive: object = None
    client_ts: Stamp = None


class Text(msgspec.Struct, tag="text", kw_only=True):
    """More text of the turn; the first begins it."""

    text: str
    client_ts: Stamp = None


class FlushNow(msgspec.Struct, tag="flush", kw_only=True):
    """Speak what is there, though its sentence has no end yet."""


class Cancel(msgspec.Struct, tag="cancel", kw_only=True):
    """Stop: nothing of the turns that run or wait follows."""


class End(msgspec.Struct, tag="end", kw_only=True):
    """The turn's text is complete."""


Asked = Start | Text | FlushNow | Cancel | End


class Told(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A frame to the client; `audio` is followed by one binary frame with that sound.

    `type` is started, audio, marks, cancelled, error or done. `utterance` counts turns from 0,
    `seq` the frames of a turn. Times of sound in seconds from the turn's start; `server_ts` in
    microseconds since 1970; `client_ts` is the last one that the client sent, as it sent it.
    """

    type: str
    utterance: int
    seq: int
    server_ts: int
    client_ts: Stamp = None
    start_s: float | None = None
    duration_s: float | None = None
    text: str | None = None
    start: int | None = None
    end: int | None = None
    error: str | None = None
    format: str | None = None
    mime_type: str | None = None
    sample_rate: int | None = None
    channels: int | None = None
    voice: str | None = None
    model_digest: str | None = None
    done_reason: str | None = None
    first_audio_ms: float | None = None
    eval_count: int | None = None
