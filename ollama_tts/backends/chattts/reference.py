"""The upstream package, loaded with any checkpoint of its layout; nothing of it is patched.

`Chat.load` wants the official files' sha256 sums, so `Chat._load` is called, the very next call
that it makes. Fallback, baseline of `bench`, and oracle of the parity tests.
"""

import importlib
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.errors import InvalidWeights, LoadFailed

# Upstream has no types.
Chat = Any  # a ChatTTS.Chat that is loaded
NEEDED = (
    "asset/DVAE.safetensors",
    "asset/gpt/config.json",
    "asset/tokenizer/tokenizer_config.json",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Upstream's warnings about its own use of other packages are not our users' business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _hush() -> None:
    """No progress bars and notices of transformers in a server's log."""
    theirs = importlib.import_module("transformers.utils.logging")
    theirs.disable_progress_bar()
    theirs.set_verbosity_error()


def load_chat(files: Mapping[str, Path], config: ChatTTSConfig, device: torch.device) -> Chat:
    """A loaded `ChatTTS.Chat`. `files` maps relative paths to files, as in `LocalModel.files`.

    Raises:
        LoadFailed: The package is not installed, cannot be imported, or refuses the checkpoint.
        InvalidWeights: A file that only upstream needs is missing.
    """
    missing = [name for name in NEEDED if name not in files]
    if missing:
        raise InvalidWeights(f"the reference backend also needs {', '.join(missing)}")
    with quiet(), tempfile.TemporaryDirectory() as root:
        for name, path in files.items():
            link = Path(root) / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
        try:
            _hush()
            chat = importlib.import_module("ChatTTS").Chat()
            _fit(chat.config, config)
            paths = {k: os.path.join(root, v) for k, v in asdict(chat.config.path).items()}  # noqa: PTH118  # upstream adds texts to it
            loaded = chat._load(device=device, **paths)  # noqa: SLF001  # see the module
        except (ImportError, AttributeError, TypeError, RuntimeError, OSError) as error:
            raise LoadFailed(
                "the installed ChatTTS package cannot load this checkpoint (versions that work: "
                f"ChatTTS 0.2.5 with transformers 4.54.1 to 5.39): {error}"
            ) from error
    if not loaded:
        raise LoadFailed("the installed ChatTTS package says that a part of the model is missing")
    return chat


def _fit(theirs: Any, ours: ChatTTSConfig) -> None:  # noqa: ANN401  # upstream has no types
    """Give upstream's config our sizes, in fresh objects: its defaults are shared by all."""
    gpt = asdict(ours.gpt)
    theirs.gpt = _resized(theirs.gpt, gpt)
    theirs.embed = _resized(theirs.embed, gpt)
    theirs.decoder = _resized(theirs.decoder, asdict(ours.decoder))
    theirs.dvae = replace(
        theirs.dvae,
        encoder=_resized(theirs.dvae.encoder, asdict(ours.dvae.encoder)),
        decoder=_resized(theirs.dvae.decoder, asdict(ours.dvae.decoder)),
        vq=_resized(theirs.dvae.vq, asdict(ours.dvae.vq)),
    )
    backbone, head = theirs.vocos.backbone, theirs.vocos.head
    theirs.vocos = replace(
        theirs.vocos,
        backbone=replace(backbone, init_args=_resized(backbone.init_args, asdict(ours.vocos))),
        head=replace(head, init_args=_resized(head.init_args, asdict(ours.vocos))),
    )
    theirs.spk_stat = ours.spk_stat or theirs.spk_stat


def dvae_sizes(config: ChatTTSConfig) -> dict[str, object]:
    """The arguments with which upstream's `DVAE` has this config's sizes."""
    dvae = config.dvae
    return {
        "decoder_config": asdict(dvae.decoder),
        "encoder_config": asdict(dvae.encoder),
        "vq_config": asdict(dvae.vq),
        "dim": dvae.decoder.idim,
    }


def _resized(theirs: Any, sizes: Mapping[str, object]) -> Any:  # noqa: ANN401
    """A copy of one of upstream's config dataclasses, with the sizes that it knows."""
    known = {k: v for k, v in sizes.items() if hasattr(theirs, k)}
    return replace(theirs, **known)
