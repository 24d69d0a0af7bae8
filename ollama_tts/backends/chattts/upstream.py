"""What is read from the installed ChatTTS package, never copied: statistics and homophones.

Its files are read where they lie; the package itself is not imported (that takes seconds).
"""

import ast
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

from ollama_tts.errors import LoadFailed

PACKAGE = "ChatTTS"


def spk_stat() -> str:
    """The official model's speaker statistics, in upstream's string form.

    Raises:
        LoadFailed: The package is not installed, or is another version that keeps them elsewhere.
    """
    source = _read("config/config.py")
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == "spk_stat"
            and node.value is not None
        ):
            value = ast.literal_eval(node.value)
            if isinstance(value, str):
                return value
    raise LoadFailed(f"the installed {PACKAGE} package holds no speaker statistics; 0.2.5 does")


def homophones() -> Mapping[int, str]:
    """Chinese characters that the model misreads → ones it reads alike, for `str.translate`.

    Raises:
        LoadFailed: The package is not installed or lacks the table.
    """
    return str.maketrans(json.loads(_read("res/homophones_map.json")))


def _read(name: str) -> str:
    spec = importlib.util.find_spec(PACKAGE)
    roots = list(spec.submodule_search_locations or ()) if spec else []
    if not roots:
        raise LoadFailed(f"the package {PACKAGE} is not installed; pip install {PACKAGE}==0.2.5")
    try:
        return (Path(roots[0]) / name).read_text(encoding="utf-8")
    except OSError as error:
        raise LoadFailed(f"the installed {PACKAGE} package lacks {name}; 0.2.5 has it") from error
