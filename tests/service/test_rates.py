"""So many requests a minute, and no more."""

import pytest

from ollama_tts.errors import TooMany
from ollama_tts.service.rates import Rates


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_minutes_worth_at_once_then_as_it_comes_back() -> None:
    clock = Clock()
    rates = Rates(6, clock)
    for _ in range(6):
        rates.take("a")
    with pytest.raises(
        TooMany, match=r"more than 6 requests a minute \(OLLAMA_TTS_RATE_LIMIT\)"
    ) as told:
        rates.take("a")
    assert told.value.retry_after_s == 10
    clock.now_s += 9.5
    with pytest.raises(TooMany) as told:
        rates.take("a")
    assert told.value.retry_after_s == 1
    clock.now_s += 0.5
    rates.take("a")
    with pytest.raises(TooMany):
        rates.take("a")


def test_callers_do_not_share_an_allowance() -> None:
    rates = Rates(1, Clock())
    rates.take("a")
    rates.take("b")
    with pytest.raises(TooMany):
        rates.take("a")


def test_none_counts_nobody() -> None:
    rates = Rates(0, Clock())
    for _ in range(1000):
        rates.take("a")
    assert len(rates) == 0


def test_accounts_that_are_full_again_are_forgotten() -> None:
    clock = Clock()
    rates = Rates(60, clock)
    for number in range(10_000):
        rates.take(str(number))
        clock.now_s += 0.1
    assert len(rates) < 2100
