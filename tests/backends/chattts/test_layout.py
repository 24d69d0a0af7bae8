"""The layout is upstream's own: its modules have these tensors, its defaults are our defaults."""

from dataclasses import asdict

import pytest

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.reference import Chat, quiet
from ollama_tts.backends.chattts.weights import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore")


def test_tensors_are_those_of_upstreams_modules(tiny: Checkpoint, tiny_chat: Chat) -> None:
    modules = {
        layout.GPT: tiny_chat.gpt.gpt,
        layout.EMBED: tiny_chat.embed,
        layout.DECODER: tiny_chat.decoder,
        layout.DVAE: tiny_chat.dvae,
        layout.VOCOS: tiny_chat.vocos,
    }
    ours = layout.shapes(tiny.config)
    assert ours.keys() == modules.keys()
    for file, module in modules.items():
        theirs = {name: tuple(t.shape) for name, t in module.state_dict().items()}
        assert dict(ours[file]) == theirs


def test_official_sizes_are_upstreams_defaults() -> None:
    with quiet():
        from ChatTTS.config import Config

        theirs = Config()
    ours = ChatTTSConfig()
    for mine, other in (
        (ours.gpt, theirs.gpt),
        (ours.gpt, theirs.embed),
        (ours.decoder, theirs.decoder),
        (ours.dvae, theirs.dvae),
        (ours.vocos, theirs.vocos.backbone.init_args),
        (ours.vocos, theirs.vocos.head.init_args),
    ):
        shared = asdict(other).keys() & asdict(mine).keys()
        assert len(shared) >= 2
        assert {k: asdict(mine)[k] for k in shared} == {k: asdict(other)[k] for k in shared}
