"""Our engine against the upstream package: same weights, same noise, same ids, same sound."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from ollama_tts.backends.chattts.prompt import RefineLevels, VoicePrompt
from ollama_tts.backends.chattts.reference import Chat, quiet
from ollama_tts.backends.chattts.renderer import Synthesizer
from ollama_tts.backends.chattts.speaker import Statistics, encode_codes, encode_speaker, normalized
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Sampling
from tests.backends.chattts.conftest import prompter, upstream, voice
from tests.support.chattts import CPU, Made, run_alone, step_model

pytestmark = pytest.mark.filterwarnings("ignore")
TEXT = "the quick brown fox jumps over the lazy dog."
STEPS = 220
SEED = 1234


def upstream_noise(ids_total: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Upstream seeds anew before every step, so each step draws this same noise."""

    def noise(seed: Tensor, step: Tensor, ids: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(SEED)
        drawn = torch.empty(ids.shape[1], ids_total).exponential_(1, generator=generator)
        return drawn.expand(len(ids), -1, -1).gather(-1, ids)

    return noise


def speak_upstream(chat: Chat, **params: object) -> tuple[NDArray[np.int32], Tensor]:
    """Codes [n, codebooks] and hidden states [n, H] of upstream, refining skipped."""
    with quiet():
        settings = chat.InferCodeParams(
            prompt="[speed_5]", show_tqdm=False, max_new_token=STEPS, manual_seed=SEED, **params
        )
        made = next(chat._infer_code([TEXT], False, CPU, True, settings))
    return made.ids[0].numpy().astype(np.int32), made.hiddens[0]


def speak_ours(
    checkpoint: Checkpoint, who: VoicePrompt, temperature: float, min_tokens: int = STEPS
) -> Made:
    noise = upstream_noise(checkpoint.config.gpt.num_audio_tokens)
    model = step_model(checkpoint, noise=noise, slots=1)
    sampling = Sampling(temperature=temperature)
    prompt = prompter(checkpoint).speech(TEXT, "en", who)
    return run_alone(model, Job(prompt, sampling, 0, STEPS, min_tokens))


def speaker(checkpoint: Checkpoint) -> NDArray[np.float32]:
    config = checkpoint.config
    return Statistics(config.spk_stat, config.gpt.hidden_size).draw(3)


def compare(checkpoint: Checkpoint, chat: Chat, temperature: float) -> None:
    """Ids equal, and the sound made from them."""
    vector = speaker(checkpoint)
    theirs, hidden = speak_upstream(
        chat, spk_emb=encode_speaker(vector), temperature=temperature, min_new_token=STEPS
    )
    ours = speak_ours(checkpoint, VoicePrompt(normalized(vector)), temperature)
    assert theirs.shape == (STEPS, 4)
    np.testing.assert_array_equal(ours.codes, theirs)
    sound = chat._decode_to_wavs([hidden], True)[0]
    assert np.abs(sound).max() > 1e-3
    np.testing.assert_allclose(ours.sound, sound, atol=1e-5)


@pytest.mark.parametrize("temperature", [1e-5, 0.3, 1.0])
def test_tiny_ids_and_sound(tiny: Checkpoint, tiny_chat: Chat, temperature: float) -> None:
    compare(tiny, tiny_chat, temperature)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_full_ids_and_sound(full: Checkpoint) -> None:
    chat = upstream(full)
    compare(full, chat, 1e-5)
    compare(full, chat, 0.3)


def test_decoder_and_vocoder(tiny: Checkpoint, tiny_chat: Chat) -> None:
    hidden = torch.randn(150, 64, generator=torch.Generator().manual_seed(0))
    theirs = tiny_chat._decode_to_wavs([hidden], True)[0]
    ours = Synthesizer(tiny, CPU).whole(hidden).numpy()
    assert ours.shape == theirs.shape == ((2 * 150 - 1) * 256,)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_full_decoder_and_vocoder(full: Checkpoint) -> None:
    hidden = torch.randn(150, 768, generator=torch.Generator().manual_seed(0))
    theirs = upstream(full)._decode_to_wavs([hidden], True)[0]
    np.testing.assert_allclose(Synthesizer(full, CPU).whole(hidden).numpy(), theirs, atol=1e-6)


def test_voice_prompt(tiny: Checkpoint, tiny_chat: Chat) -> None:
    """A recording's codes after the prompt, its text before ours: the same ids come out."""
    codes = np.random.default_rng(0).integers(0, 625, (4, 40), dtype=np.int32)
    theirs, _ = speak_upstream(
        tiny_chat,
        spk_smp=encode_codes(codes),
        txt_smp="hello world",
        temperature=0.3,
        min_new_token=STEPS,
    )
    ours = speak_ours(tiny, VoicePrompt(codes=codes, said="hello world"), 0.3)
    np.testing.assert_array_equal(ours.codes, theirs)


def test_end_token(mini: Checkpoint, mini_chat: Chat) -> None:
    """Both end by themselves, at the same token."""
    theirs, _ = speak_upstream(mini_chat, spk_emb=mini.speakers()["ben"], temperature=0.3)
    model = step_model(mini, noise=upstream_noise(626), slots=1)
    prompt = prompter(mini).speech(TEXT, "en", voice(mini, "ben"))
    ours = run_alone(model, Job(prompt, Sampling(), 0, STEPS))
    assert ours.outcome == "end"
    np.testing.assert_array_equal(ours.codes, theirs)


@pytest.mark.parametrize("levels", [RefineLevels(), RefineLevels(2, 0, 6)])
def test_refine(mini: Checkpoint, mini_chat: Chat, levels: RefineLevels) -> None:
    """The refine stage writes the same text."""
    text = "Good morning, how are you today?"
    with quiet():
        params = mini_chat.RefineTextParams(
            prompt=levels.prompt, show_tqdm=False, manual_seed=SEED, max_new_token=100
        )
        theirs = next(
            mini_chat._infer([text], skip_refine_text=False, refine_text_only=True,
                             split_text=False, params_refine_text=params)
        )  # fmt: skip
    made = prompter(mini)
    noise = upstream_noise(mini.config.gpt.num_text_tokens)
    model = step_model(mini, noise=noise, slots=1, text_end=made.refine_end)
    sampling = Sampling(temperature=0.7, top_p=0.7, top_k=20, repeat_penalty=1.0)
    job = Job(made.refine(text, "en", levels), sampling, 0, 100, kind="text")
    ours = run_alone(model, job)
    assert ours.outcome == "end"
    assert made.refined(ours.codes[:, 0].tolist()) == theirs[0]
