from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Control(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NONE: _ClassVar[Control]
    FLUSH: _ClassVar[Control]
    CANCEL: _ClassVar[Control]
    END: _ClassVar[Control]
NONE: Control
FLUSH: Control
CANCEL: Control
END: Control

class TtsRequest(_message.Message):
    __slots__ = ("text", "client_ts", "model", "options", "control", "system", "keep_alive")
    class OptionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_TS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALIVE_FIELD_NUMBER: _ClassVar[int]
    text: str
    client_ts: int
    model: str
    options: _containers.ScalarMap[str, str]
    control: Control
    system: str
    keep_alive: str
    def __init__(self, text: _Optional[str] = ..., client_ts: _Optional[int] = ..., model: _Optional[str] = ..., options: _Optional[_Mapping[str, str]] = ..., control: _Optional[_Union[Control, str]] = ..., system: _Optional[str] = ..., keep_alive: _Optional[str] = ...) -> None: ...

class TtsResponse(_message.Message):
    __slots__ = ("opus", "pcm", "seq", "start_s", "client_ts", "server_ts", "is_final", "error", "turn", "duration_s", "sample_rate", "text", "text_start", "text_end", "done_reason", "first_audio_ms")
    OPUS_FIELD_NUMBER: _ClassVar[int]
    PCM_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    START_S_FIELD_NUMBER: _ClassVar[int]
    CLIENT_TS_FIELD_NUMBER: _ClassVar[int]
    SERVER_TS_FIELD_NUMBER: _ClassVar[int]
    IS_FINAL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    DURATION_S_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_START_FIELD_NUMBER: _ClassVar[int]
    TEXT_END_FIELD_NUMBER: _ClassVar[int]
    DONE_REASON_FIELD_NUMBER: _ClassVar[int]
    FIRST_AUDIO_MS_FIELD_NUMBER: _ClassVar[int]
    opus: bytes
    pcm: bytes
    seq: int
    start_s: float
    client_ts: int
    server_ts: int
    is_final: bool
    error: TurnError
    turn: int
    duration_s: float
    sample_rate: int
    text: str
    text_start: int
    text_end: int
    done_reason: str
    first_audio_ms: float
    def __init__(self, opus: _Optional[bytes] = ..., pcm: _Optional[bytes] = ..., seq: _Optional[int] = ..., start_s: _Optional[float] = ..., client_ts: _Optional[int] = ..., server_ts: _Optional[int] = ..., is_final: _Optional[bool] = ..., error: _Optional[_Union[TurnError, _Mapping]] = ..., turn: _Optional[int] = ..., duration_s: _Optional[float] = ..., sample_rate: _Optional[int] = ..., text: _Optional[str] = ..., text_start: _Optional[int] = ..., text_end: _Optional[int] = ..., done_reason: _Optional[str] = ..., first_audio_ms: _Optional[float] = ...) -> None: ...

class TurnError(_message.Message):
    __slots__ = ("code", "message", "retry_after_s")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    retry_after_s: int
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., retry_after_s: _Optional[int] = ...) -> None: ...
