import pytest
from hypothesis import given, strategies as st

from ollama_tts.client import Backoff
from ollama_tts.errors import (
    Busy,
    DeadlineExceeded,
    Failed,
    InvalidOption,
    ModelNotFound,
    OllamaTTSError,
    Unreachable,
    UpstreamFailed,
)


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(retries=6, first_s=0.5, longest_s=4.0, jitter=lambda: 1.0)
    waits = [backoff.delay_s(attempt, Unreachable("gone")) for attempt in range(7)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0, None]


def test_jitter_spreads_over_the_upper_half() -> None:
    waits = [
        Backoff(first_s=2.0, jitter=lambda draw=draw: draw).delay_s(0, Unreachable(""))  # type: ignore[misc]
        for draw in (0.0, 0.5, 1.0)
    ]
    assert waits == [1.0, 1.5, 2.0]


def test_a_full_queue_says_when_to_come_again() -> None:
    backoff = Backoff(first_s=0.5, longest_s=20.0, jitter=lambda: 1.0)
    assert backoff.delay_s(0, Busy("full", 3)) == 3.5
    assert backoff.delay_s(0, Busy("full", 3600)) == 20.5


@pytest.mark.parametrize(
    "error",
    [
        InvalidOption("x"),
        ModelNotFound("x"),
        Failed("x"),
        UpstreamFailed("x"),
        DeadlineExceeded("x"),
    ],
)
def test_what_a_second_try_cannot_help_is_not_tried(error: OllamaTTSError) -> None:
    assert Backoff().delay_s(0, error) is None


@given(st.integers(0, 50), st.floats(0, 1), st.integers(1, 10_000))
def test_every_wait_is_bounded(attempt: int, draw: float, retry_after_s: int) -> None:
    backoff = Backoff(retries=100, longest_s=30.0, jitter=lambda: draw)
    for error in (Busy("", retry_after_s), Unreachable("")):
        delay_s = backoff.delay_s(attempt, error)
        assert delay_s is not None
        assert 0 <= delay_s <= 60.0
