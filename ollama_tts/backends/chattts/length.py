"""How long an utterance may become: a model that does not stop by itself is stopped."""

import math

from ollama_tts.backends.chattts.config import SAMPLE_RATE_HZ

# Speech runs at some four syllables a second and a text token is at most two of them; the base
# leaves room for marks, breath and a slow voice.
BASE_S = 4.0
PER_TOKEN_S = 0.6


def most_steps(num_predict: int, text_tokens: int, step_samples: int) -> int:
    """The most codec steps of an utterance.

    `num_predict` where it is positive, else what a text of `text_tokens` can honestly need.
    """
    if num_predict > 0:
        return num_predict
    return math.ceil((BASE_S + PER_TOKEN_S * text_tokens) * SAMPLE_RATE_HZ / step_samples)
