"""The compiled part of the native step: found, opened, and its C interface declared."""

import ctypes
import importlib.machinery
import pathlib
from typing import Literal

from ollama_tts.errors import Unsupported

OK, NO_MEMORY = 0, 1
Mode = Literal["fp32", "bf16", "int8"]
Path = Literal["best", "portable", "avx2", "avx512"]
MODES: tuple[Mode, ...] = ("fp32", "bf16", "int8")
PATHS: tuple[Path, ...] = ("best", "portable", "avx2", "avx512")


class Shape(ctypes.Structure):
    """`ott_shape` of abi.h."""

    _fields_ = [  # type: ignore[mutable-override]
        *((name, ctypes.c_int32) for name in (
            "hidden", "layers", "heads", "inner", "codebooks", "codes", "texts", "code_end",
            "text_end", "slots", "positions", "threads", "mode", "path")),
        ("epsilon", ctypes.c_float),
        ("cache_bytes", ctypes.c_int64),
    ]  # fmt: skip


class StartJob(ctypes.Structure):
    """`ott_job` of abi.h."""

    _fields_ = [  # type: ignore[mutable-override]
        *((name, ctypes.c_int32) for name in ("slot", "kind", "prompt", "injected")),
        *((name, ctypes.c_void_p) for name in ("ids", "is_text", "rows", "rows_at")),
        *((name, ctypes.c_float) for name in ("temperature", "top_p", "penalty")),
        *((name, ctypes.c_int32) for name in ("top_k", "min_tokens")),
        ("seed", ctypes.c_uint64),
        ("noise", ctypes.c_void_p),
    ]


class Stage(ctypes.Structure):
    """`ott_stage` of abi.h."""

    _fields_ = [  # type: ignore[mutable-override]
        (name, ctypes.c_int32) for name in (
            "kind", "channels", "outputs", "kernel", "dilation", "inner", "mode", "after")
    ]  # fmt: skip


class Stream(ctypes.Structure):
    """`ott_stream` of abi.h."""

    _fields_ = [  # type: ignore[mutable-override]
        *((name, ctypes.c_void_p) for name in ("state", "next")),
        *((name, ctypes.c_int32) for name in ("frames", "last", "follows")),
    ]


def find() -> pathlib.Path | None:
    """Where the compiled part lies, or None where it was not built."""
    here = pathlib.Path(__file__).parent
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = here / f"_step{suffix}"
        if path.is_file():
            return path
    return None


def load() -> ctypes.CDLL:
    """Open the compiled part. Calls into it release the interpreter's lock.

    Raises:
        Unsupported: It was not built, is of another version, or does not load on this machine.
    """
    path = find()
    if path is None:
        raise Unsupported(
            "the native CPU step was not built; install with a C++17 compiler to have it"
        )
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Unsupported(f"the native CPU step does not load here: {error}") from error
    try:
        _declare(library)
    except AttributeError as error:
        raise Unsupported(
            f"the native CPU step is of another version: {error}; install again"
        ) from error
    return library


def _declare(library: ctypes.CDLL) -> None:
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    signatures: dict[str, tuple[object, list[object]]] = {
        "ott_new": (pointer, [ctypes.POINTER(Shape), ctypes.POINTER(ctypes.c_int32)]),
        "ott_free": (None, [pointer]),
        "ott_path": (text, [pointer]),
        "ott_fill": (number, [pointer, *[number] * 5, pointer]),
        "ott_ready": (number, [pointer]),
        "ott_start": (number, [pointer, ctypes.POINTER(StartJob)]),
        "ott_stop": (number, [pointer, number]),
        "ott_step": (number, [pointer, number, pointer, number, *[pointer] * 5]),
        "ott_read": (number, [pointer, *[number] * 3, pointer, pointer]),
        "ott_weight_bytes": (ctypes.c_int64, [pointer]),
        "ott_cache_bytes": (ctypes.c_int64, [pointer, number]),
        "ott_pool_new": (pointer, [number, number, ctypes.POINTER(ctypes.c_int32)]),
        "ott_pool_free": (None, [pointer]),
        "ott_stages_new": (
            pointer,
            [ctypes.POINTER(Stage), number, ctypes.c_float, ctypes.POINTER(ctypes.c_int32)],
        ),
        "ott_stages_free": (None, [pointer]),
        "ott_stages_fill": (number, [pointer, number, number, pointer]),
        "ott_stages_bytes": (ctypes.c_int64, [pointer]),
        "ott_stages_state_bytes": (ctypes.c_int64, [pointer]),
        "ott_stages_begin": (None, [pointer, pointer]),
        "ott_stages_push": (
            number,
            [pointer, pointer, number, ctypes.POINTER(Stream), *[pointer] * 3],
        ),
        "ott_uniform": (ctypes.c_float, [ctypes.c_uint64, *[number] * 3]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
