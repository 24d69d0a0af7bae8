"""A checkpoint is checked both ways before it is used, and read without a second copy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.config import ChatTTSConfig
from ollama_tts.backends.chattts.weights import Checkpoint, directory, read_config
from ollama_tts.errors import InvalidWeights, LoadFailed
from tests.support.checkpoints import TINY


def spoiled(tiny: Checkpoint, tmp_path: Path, file: str, **changes: torch.Tensor | None) -> None:
    """Open the tiny checkpoint with some tensors of a file changed or (None) taken out."""
    tensors = load_file(tiny.files[file])
    for name, value in changes.items():
        key = name.replace("__", ".")
        if value is None:
            del tensors[key]
        else:
            tensors[key] = value
    save_file(tensors, tmp_path / "spoiled")
    Checkpoint({**tiny.files, file: tmp_path / "spoiled"})


def test_a_good_one_opens(tiny: Checkpoint) -> None:
    assert tiny.config.gpt == TINY.gpt
    assert tiny.config.vocos == TINY.vocos
    found = tiny.tensor(layout.GPT, "norm.weight", torch.bfloat16)
    assert found.dtype == torch.bfloat16
    assert found.shape == (64,)


def test_parameters_are_counted(tiny: Checkpoint) -> None:
    files = (layout.GPT, layout.EMBED, layout.DECODER, layout.DVAE, layout.VOCOS)
    stored = sum(t.numel() for f in files for t in load_file(tiny.files[f]).values())
    assert tiny.parameters() == stored - TINY.gpt.vocab_size * TINY.gpt.hidden_size


def test_every_fault_is_named(tiny: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(InvalidWeights, match=r"Decoder\.safetensors lacks tensors: coef"):
        spoiled(tiny, tmp_path, layout.DECODER, coef=None)
    with pytest.raises(InvalidWeights, match=r"holds unknown tensors: extra"):
        spoiled(tiny, tmp_path, layout.DECODER, extra=torch.zeros(1))
    with pytest.raises(InvalidWeights, match=r"coef is \[1, 99, 1\], not \[1, 100, 1\]"):
        spoiled(tiny, tmp_path, layout.DECODER, coef=torch.zeros(1, 99, 1))
    with pytest.raises(InvalidWeights, match="coef is I64, not one of"):
        spoiled(tiny, tmp_path, layout.DECODER, coef=torch.zeros(1, 100, 1, dtype=torch.int64))
    (tmp_path / "garbage").write_bytes(b"\x80\x04 not safetensors")
    with pytest.raises(InvalidWeights, match="not a sound safetensors file"):
        Checkpoint({**tiny.files, layout.VOCOS: tmp_path / "garbage"})


def test_what_is_no_checkpoint(tiny: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidWeights, match=r"no ChatTTS checkpoint: asset/gpt/model\.safetensors"
    ):
        Checkpoint({layout.CONFIG: tiny.files[layout.CONFIG]})
    with pytest.raises(InvalidWeights, match=r"beside it only speakers\.json"):
        Checkpoint({"model.gguf": tmp_path / "x", layout.CONFIG: tiny.files[layout.CONFIG]})


def test_a_file_that_vanishes(tiny: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "vocos").write_bytes(tiny.files[layout.VOCOS].read_bytes())
    opened = Checkpoint({**tiny.files, layout.VOCOS: tmp_path / "vocos"})
    (tmp_path / "vocos").unlink()
    with pytest.raises(LoadFailed, match=r"Vocos\.safetensors: head\.out\.bias cannot be read"):
        opened.tensor(layout.VOCOS, "head.out.bias", torch.float32)


def test_without_a_config_the_official_sizes_hold() -> None:
    assert read_config({}) == ChatTTSConfig()
    assert ChatTTSConfig().context_frames == 104
    assert ChatTTSConfig().context_steps == 52
    assert ChatTTSConfig().step_samples == 512


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not JSON"),
        ("[]", "must hold an object"),
        ('{"gpt": 3}', "gpt must be an object"),
        ('{"gpt": {"hidden_size": "big"}}', "gpt.hidden_size must be a positive size, not 'big'"),
        ('{"gpt": {"hidden_size": -1}}', "gpt.hidden_size must be a positive size, not -1"),
        ('{"gpt": {"num_hidden_layers": true}}', "must be a positive size, not True"),
        ('{"gpt": {"num_attention_heads": 7}}', "num_attention_heads divides hidden_size"),
        ('{"decoder": {"idim": 10}}', "decoder.idim is half of gpt.hidden_size"),
        ('{"vocos": {"n_fft": 512}}', "n_fft is four times hop_length"),
        ('{"dvae": {"vq": {"levels": []}}}', "must be a list of sizes"),
        ('{"spk_stat": 1}', "spk_stat must be a text"),
    ],
)
def test_a_bad_config_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c").write_text(text)
    with pytest.raises(InvalidWeights, match=message.replace(".", r"\.")):
        read_config({layout.CONFIG: tmp_path / "c"})


def test_speakers_must_be_texts(tiny: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "s").write_text(json.dumps({"anna": 3}))
    with pytest.raises(InvalidWeights, match=r"speakers\.json"):
        Checkpoint({**tiny.files, layout.SPEAKERS: tmp_path / "s"}).speakers()


PEAK = """
import resource, sys
from pathlib import Path
import torch
from ollama_tts.backends.chattts.weights import Checkpoint, directory
def peak(): return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sizes = directory(Path(sys.argv[1]))
checkpoint = Checkpoint(sizes)
before = peak()
kept = [checkpoint.tensor(f, n, torch.float32)
        for f, names in checkpoint.source.tensors.items() for n in names]
print(peak() - before, sum(t.nbytes for t in kept))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_peak_memory(full: Checkpoint) -> None:
    """Reading everything never holds more than 1.3 times what is kept."""
    root = full.files[layout.CONFIG].parent
    out = subprocess.run(
        [sys.executable, "-c", PEAK, str(root)], capture_output=True, text=True, check=True
    )
    used, kept = map(int, out.stdout.split())
    assert kept > 1e9
    assert used <= 1.3 * kept


def test_directory_lists_files_by_relative_path(tmp_path: Path) -> None:
    (tmp_path / "asset").mkdir()
    (tmp_path / "asset/a").write_text("")
    assert directory(tmp_path) == {"asset/a": tmp_path / "asset/a"}
