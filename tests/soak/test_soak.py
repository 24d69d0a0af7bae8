"""The long scripts of benchmarks/, in short: a server of its own process under mixed work."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.mixup import mixed
from benchmarks.soak import soak
from benchmarks.vanish import kept, vanish


@pytest.mark.slow
def test_everyone_hears_their_own_text_through_random_doors(tmp_path: Path) -> None:
    tally, left_over = asyncio.run(mixed(tmp_path, requests=400, clients=64, seed=7))
    assert tally.wrong == []
    assert left_over == {}
    assert sum(tally.heard.values()) + tally.left == 400
    assert len(tally.heard) == 10, "a door was never used"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_minutes_of_everything_leave_the_server_as_it_was(tmp_path: Path) -> None:
    account = asyncio.run(soak(tmp_path, seconds=120, clients=12, seed=7))
    assert account.unexpected == []
    assert account.left_over == {}
    for what in ("heard tone", "heard hibari", "heard mini", "hung up", "made and deleted"):
        assert account.counts[what] > 0
    assert account.growth < 0.1, "memory grew"
    assert account.descriptors[-1] < 200


def test_nothing_stays_of_callers_who_vanish_through_any_door(tmp_path: Path) -> None:
    account = asyncio.run(vanish(tmp_path, clients=40, at_once=20, seed=3))
    assert not kept(account), account
    assert sum(account.vanished.values()) + account.finished == 40
