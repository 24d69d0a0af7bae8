"""A model becomes one GGUF and speaks the same tokens; what cannot be written is refused."""

import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.conversion import convert
from ollama_tts.backends.chattts.sources import open_source
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.errors import InvalidRequest, InvalidWeights
from ollama_tts.store.tensors import TYPES
from tests.support.checkpoints import TINY, write

# Bytes a number of the language model's matrices take, against two of float16.
SHRINKS = {"F32": 2.0, "F16": 1.0, "BF16": 1.0, "Q8_0": 0.57, "Q5_0": 0.47, "Q4_0": 0.43}


def written(
    path: Path, files: Mapping[str, Path], dtype: str | None, licenses: tuple[str, ...] = ()
) -> Path:
    conversion = convert(files, dtype, licenses)
    path.write_bytes(b"".join(conversion.chunks()))
    assert path.stat().st_size == conversion.size_bytes
    return path


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_is_written_and_read_again(mini: Checkpoint, tmp_path: Path, dtype: str) -> None:
    path = written(tmp_path / "m.gguf", mini.files, dtype, ("mine",))
    again = Checkpoint({"m.gguf": path})
    assert again.source.precision == dtype
    assert (again.config, again.tokenizer) == (mini.config, mini.tokenizer)
    assert (again.speakers(), again.source.licenses) == (mini.speakers(), ("mine",))
    assert again.parameters() == mini.parameters()
    size = sum(mini.files[f].stat().st_size for f in mini.source.tensors)
    assert path.stat().st_size < 1.15 * SHRINKS[dtype] * size + len(mini.tokenizer)
    theirs = mini.tensor(layout.GPT, "layers.0.mlp.up_proj.weight", torch.float32)
    ours = again.tensor(layout.GPT, "layers.0.mlp.up_proj.weight", torch.float32)
    assert (ours - theirs).abs().max() <= 0.13 * theirs.abs().max()
    assert torch.equal(
        again.tensor(layout.GPT, "norm.weight", torch.float32),
        mini.tensor(layout.GPT, "norm.weight", torch.float32),
    )


def test_the_package_reads_the_file(mini: Checkpoint, tmp_path: Path) -> None:
    reader = gguf.GGUFReader(written(tmp_path / "m.gguf", mini.files, "Q8_0"))
    assert reader.fields["general.architecture"].contents() == "chattts"
    assert reader.fields["general.file_type"].contents() == gguf.LlamaFileType.MOSTLY_Q8_0
    assert reader.fields["chattts.block_count"].contents() == mini.config.gpt.num_hidden_layers
    found = {tensor.name: tensor for tensor in reader.tensors}
    up = found["gpt.layers.0.mlp.up_proj.weight"]
    assert up.tensor_type == gguf.GGMLQuantizationType.Q8_0
    ours = Checkpoint({"m.gguf": tmp_path / "m.gguf"})
    read = ours.tensor(layout.GPT, "layers.0.mlp.up_proj.weight", torch.float32)
    assert np.array_equal(gguf.dequantize(up.data, up.tensor_type), read.numpy())


def test_what_is_kept_comes_back_to_the_byte(mini: Checkpoint, tmp_path: Path) -> None:
    """Without a precision the numbers stay what they are, and a second export is the first."""
    first = written(tmp_path / "a.gguf", mini.files, None, ("x",))
    again = written(tmp_path / "b.gguf", {"a.gguf": first}, None)
    assert first.read_bytes() == again.read_bytes()
    narrow = written(tmp_path / "c.gguf", {"a.gguf": first}, "Q8_0")
    same = written(tmp_path / "d.gguf", {"c.gguf": narrow}, "Q8_0")
    assert narrow.read_bytes() == same.read_bytes()
    source = open_source({"a.gguf": first})
    for file, tensors in mini.source.tensors.items():
        for name, stored in tensors.items():
            assert np.array_equal(source.tensors[file][name].raw(), stored.raw())


def test_steps_are_not_changed_to_other_steps(mini: Checkpoint, tmp_path: Path) -> None:
    path = written(tmp_path / "m.gguf", mini.files, "Q8_0")
    for dtype in ("Q4_0", "F16"):
        with pytest.raises(InvalidRequest, match="only supported for F16, BF16 and F32 models"):
            convert({"m.gguf": path}, dtype)


@pytest.mark.parametrize(
    ("value", "dtype"), [(math.nan, "Q8_0"), (math.inf, "BF16"), (7e4, "F16"), (9e6, "Q8_0")]
)
def test_numbers_that_a_type_cannot_hold(
    tiny: Checkpoint, tmp_path: Path, value: float, dtype: str
) -> None:
    name = "layers.1.self_attn.q_proj.weight"
    tensors = load_file(tiny.files[layout.GPT])
    tensors[name][3, 5] = value
    save_file(tensors, tmp_path / "gpt")
    conversion = convert({**tiny.files, layout.GPT: tmp_path / "gpt"}, dtype)
    with pytest.raises(InvalidWeights, match=f"{name} holds .*, which {dtype} cannot"):
        list(conversion.chunks())


PEAK = """
import resource, sys
from pathlib import Path
from ollama_tts.backends.chattts.conversion import convert
def peak(): return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
root = Path(sys.argv[1])
files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.*")}
conversion = convert(files, "Q8_0")
before = peak()
with open(sys.argv[2], "wb") as file:
    for chunk in conversion.chunks():
        file.write(chunk)
print(peak() - before)
"""


def test_peak_memory(tmp_path: Path) -> None:
    """It grows by less than the largest tensor, whose size alone does not fit into it."""
    gpt = replace(
        TINY.gpt, hidden_size=512, intermediate_size=512, num_attention_heads=8,
        num_text_tokens=21178,
    )  # fmt: skip
    sizes = replace(TINY, gpt=gpt, decoder=replace(TINY.decoder, idim=256))
    root = write(tmp_path / "c", sizes)
    out = subprocess.run(
        [sys.executable, "-c", PEAK, str(root), str(tmp_path / "m.gguf")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    largest = 21178 * 512 * 4
    assert (tmp_path / "m.gguf").stat().st_size > largest / 2
    assert int(out.stdout) < 0.75 * largest
