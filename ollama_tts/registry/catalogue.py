"""Models known by a short name of ours that lie on the model hub."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ollama_tts.errors import Failed
from ollama_tts.names import DEFAULT_HOST, DEFAULT_NAMESPACE, Digest, ModelName

# What upstream's loader reads, and all it lists hashes for.
CHATTTS_FILES = (
    "asset/Decoder.safetensors",
    "asset/DVAE.safetensors",
    "asset/Embed.safetensors",
    "asset/Vocos.safetensors",
    "asset/gpt/config.json",
    "asset/gpt/model.safetensors",
    "asset/tokenizer/special_tokens_map.json",
    "asset/tokenizer/tokenizer_config.json",
    "asset/tokenizer/tokenizer.json",
)
_MAX_LIST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A model on the hub: `files` gives the sha256 of each, which is what pins it.

    `revision` is where they were last seen together; where a mirror does not know it, its
    newest revision serves as well, since the hashes decide.
    """

    model: str
    repository: str
    revision: str

    def fits(self, name: ModelName) -> bool:
        """Whether a name means this entry; its tag says with which precision it is loaded."""
        place = (DEFAULT_HOST, DEFAULT_NAMESPACE, self.model)
        return name.folded[:3] == place

    def files(self) -> Mapping[str, Digest]:
        """Relative path → sha256, as the installed package ChatTTS lists them.

        Raises:
            Failed: The package is not there, or lists them no more.
        """
        listed = _listed()
        try:
            return {path: Digest.parse(f"sha256:{listed[_key(path)]}") for path in CHATTTS_FILES}
        except KeyError as error:
            raise Failed(f"the package ChatTTS lists no hash {error} any more") from error


CHATTTS = Entry("chattts", "2Noise/ChatTTS", "1a3c04a8b0651689bd9242fbb55b1f4b5a9aef84")


def entry_of(name: ModelName) -> Entry | None:
    """The entry that a name means, if any."""
    return CHATTTS if CHATTTS.fits(name) else None


def _key(path: str) -> str:
    return "sha256_" + path.replace("/", "_").replace(".", "_")


def _listed() -> Mapping[str, str]:
    """The hashes in the installed package, found without importing it."""
    spec = find_spec("ChatTTS")
    if spec is None or spec.origin is None:
        raise Failed("the package ChatTTS, which lists the hashes of its weights, is not installed")
    try:
        with (Path(spec.origin).parent / "res" / "sha256_map.json").open("rb") as file:
            found = json.loads(file.read(_MAX_LIST_BYTES))
    except (OSError, ValueError) as error:
        raise Failed("the package ChatTTS lists no hashes of its weights") from error
    return {str(name): str(value) for name, value in dict(found).items()}
