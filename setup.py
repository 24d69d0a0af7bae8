"""Build the optional native CPU step; everything else stands in pyproject.toml.

A machine without a C++17 compiler installs without it: `optional` turns a failed build into a
warning, and the program then runs in torch alone.
"""

import sys
from pathlib import Path

from setuptools import Extension, setup

NATIVE = Path("ollama_tts/backends/chattts/native")
UNIX = ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-ffp-contract=fast", "-pthread"]
QUIET = ["-Wno-psabi", "-Wno-maybe-uninitialized"]

setup(
    ext_modules=[
        Extension(
            "ollama_tts.backends.chattts.native._step",
            sources=sorted(str(path) for path in NATIVE.glob("*.cpp")),
            depends=sorted(str(path) for path in NATIVE.glob("*.h")),
            extra_compile_args=["/std:c++17", "/O2"] if sys.platform == "win32" else UNIX + QUIET,
            extra_link_args=[] if sys.platform == "win32" else ["-pthread"],
            language="c++",
            optional=True,
        )
    ]
)
