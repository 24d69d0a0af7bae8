"""The one table from error to gRPC status, and when to come again."""

from collections.abc import Mapping

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from ollama_tts import errors
from ollama_tts.server.reasons import text_of

OUT_OF_MEMORY_RETRY_S = 5

STATUS: Mapping[type[errors.OllamaTTSError], grpc.StatusCode] = {
    errors.InvalidRequest: grpc.StatusCode.INVALID_ARGUMENT,
    errors.TooLarge: grpc.StatusCode.INVALID_ARGUMENT,
    errors.Unauthorized: grpc.StatusCode.UNAUTHENTICATED,
    errors.Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    errors.NotFound: grpc.StatusCode.NOT_FOUND,
    errors.Busy: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.OutOfMemory: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.DeadlineExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.Cancelled: grpc.StatusCode.CANCELLED,
    errors.EngineDead: grpc.StatusCode.UNAVAILABLE,
    errors.Unreachable: grpc.StatusCode.UNAVAILABLE,
    errors.DigestMismatch: grpc.StatusCode.DATA_LOSS,
    errors.Failed: grpc.StatusCode.INTERNAL,
    errors.OllamaTTSError: grpc.StatusCode.INTERNAL,
}


class Leaving(errors.OllamaTTSError):
    """This server is going away; another one, or this one later, takes the next stream."""


def code_of(error: Exception) -> grpc.StatusCode:
    """The status of an error; INTERNAL for what nobody foresaw."""
    if isinstance(error, Leaving):
        return grpc.StatusCode.UNAVAILABLE
    kinds = type(error).__mro__
    return next((STATUS[k] for k in kinds if k in STATUS), grpc.StatusCode.INTERNAL)


def number_of(error: Exception) -> int:
    """The same as a google.rpc.Code."""
    return int(code_of(error).value[0])


def retry_after_s(error: Exception) -> int:
    """When the same request may succeed, in whole seconds; 0 where waiting would not help."""
    if isinstance(error, errors.Busy):
        return error.retry_after_s
    return OUT_OF_MEMORY_RETRY_S if isinstance(error, errors.OutOfMemory) else 0


def is_the_callers(error: Exception) -> bool:
    """Whether the turn was at fault, and the next one may well succeed at once."""
    return isinstance(error, errors.InvalidRequest | errors.NotFound | errors.TooLarge)


def status_of(error: Exception) -> "grpc.Status":
    """What a stream ends with: code, text, and google.rpc.RetryInfo where waiting helps."""
    status = Status(code=number_of(error), message=text_of(error))
    if delay_s := retry_after_s(error):
        detail = Any()
        detail.Pack(RetryInfo(retry_delay=Duration(seconds=delay_s)))
        status.details.append(detail)
    return rpc_status.to_status(status)
