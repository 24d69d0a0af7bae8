"""Ids to vectors and vectors to logits: embedding tables and heads.

Letters: P positions of a prompt, R rows, C codebooks, V audio ids, H hidden width.
"""

import torch
from torch import Tensor

from ollama_tts.backends.chattts import layout
from ollama_tts.backends.chattts.gpt import Precision
from ollama_tts.backends.chattts.linear import DenseWeight, Linear, pack
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Prompt

HALVES = {torch.bfloat16, torch.float16}


def folded_head(checkpoint: Checkpoint, name: str, device: torch.device | str = "cpu") -> Tensor:
    """A weight-normalised head as one plain matrix, float32 [ids, H]."""
    p = f"{name}.parametrizations.weight.original"
    length = checkpoint.tensor(layout.EMBED, p + "0", torch.float32, device)
    direction = checkpoint.tensor(layout.EMBED, p + "1", torch.float32, device)
    return torch._weight_norm(direction, length, 0)  # noqa: SLF001  # what weight_norm computes


class Vocabulary:
    """Tables and heads on one device.

    Embeddings lie in half precision unless the weights are fp32; the audio heads, which decide
    what is heard, are always float32.
    """

    def __init__(self, checkpoint: Checkpoint, precision: Precision, device: torch.device) -> None:
        config = checkpoint.config.gpt
        self._audio_ids, self._codebooks = config.num_audio_tokens, config.num_vq
        self._device = device
        self._tile = precision.decode_tile
        kept = _table_dtype(precision)
        self._text = checkpoint.tensor(layout.EMBED, "emb_text.weight", kept, device)
        books = range(config.num_vq)
        self._codes = torch.cat(
            [checkpoint.tensor(layout.EMBED, f"emb_code.{i}.weight", kept, device) for i in books]
        )
        heads = [folded_head(checkpoint, f"head_code.{i}", device) for i in books]
        self._code_head = Linear(DenseWeight(torch.cat(heads)))
        text_head = folded_head(checkpoint, "head_text", device)
        self._text_head = Linear(pack(text_head, precision.weights, precision.compute))
        self._offsets = torch.arange(config.num_vq, device=device) * config.num_audio_tokens

    @property
    def nbytes(self) -> int:
        """Bytes of tables and heads."""
        heads = self._code_head.nbytes + self._text_head.nbytes
        return self._text.nbytes + self._codes.nbytes + heads

    def prompt(self, prompt: Prompt, start: int, stop: int) -> Tensor:
        """Embeddings of the prompt's positions [`start`, `stop`), float32 [P, H]."""
        ids = torch.from_numpy(prompt.ids[start:stop]).to(self._device, torch.int64)
        is_text = torch.from_numpy(prompt.is_text[start:stop]).to(self._device)
        text = self.text(torch.where(is_text, ids[:, 0], 0))
        codes = self.codes(torch.where(is_text[:, None], 0, ids))
        found = torch.where(is_text[:, None], text, codes)
        for at, vector in zip(prompt.injected_at, prompt.injected, strict=True):
            if start <= at < stop:
                found[int(at) - start] = torch.from_numpy(vector)
        return found

    def text(self, ids: Tensor) -> Tensor:
        """Text ids int64 [R] → float32 [R, H]."""
        return self._text[ids].float()

    def codes(self, ids: Tensor) -> Tensor:
        """Codes int64 [R, C] → the sum of their embeddings, float32 [R, H]."""
        return self._codes[ids + self._offsets].float().sum(1)

    def code_logits(self, hidden: Tensor) -> Tensor:
        """Hidden states float32 [R, H] → float32 [R, C, V]."""
        logits = self._code_head(hidden, self._tile)
        return logits.view(-1, self._codebooks, self._audio_ids)

    def text_logits(self, hidden: Tensor) -> Tensor:
        """Hidden states float32 [R, H] → float32 [R, 1, text ids]."""
        return self._text_head(hidden, self._tile)[:, None]


def _table_dtype(precision: Precision) -> torch.dtype:
    if precision.weights == "fp32":
        return torch.float32
    return precision.compute if precision.compute in HALVES else torch.float16
