import asyncio

import pytest

from ollama_tts.errors import Cancelled, Failed
from ollama_tts.names import Digest
from ollama_tts.registry.download import Report
from ollama_tts.registry.failures import Passing
from ollama_tts.registry.patience import Patience
from ollama_tts.registry.transfers import Transfers
from tests.support.pulls import Pauses

DIGEST = Digest.of(b"x")


def test_pauses_double_within_bounds() -> None:
    longest = Patience(chance=lambda: 1.0)
    shortest = Patience(chance=lambda: 0.0)
    assert [longest.pause_s(n) for n in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [shortest.pause_s(n) for n in range(8)] == [0.5, 1, 2, 4, 8, 16, 32, 60]
    assert longest.pause_s(10**6) == 60
    assert longest.pause_s(0, retry_after_s=20) == 20
    assert longest.pause_s(0, retry_after_s=10**6) == 60


@pytest.mark.parametrize(("failures", "succeeds"), [(0, True), (2, True), (3, False)])
async def test_tries(failures: int, succeeds: bool) -> None:
    pauses = Pauses()
    done = 0

    async def work() -> int:
        nonlocal done
        done += 1
        if done <= failures:
            raise Passing("again")
        return done

    patience = Patience(attempts=3, sleep=pauses.sleep)
    if succeeds:
        assert await patience.tries(work) == failures + 1
    else:
        with pytest.raises(Passing):
            await patience.tries(work)
    assert len(pauses.taken) == min(failures, 2)


async def test_a_transfer_that_another_began_and_that_fails_is_begun_once_more() -> None:
    transfers = Transfers(report_s=0.001)
    begun: list[str] = []
    gate = asyncio.Event()

    async def bad(report: Report) -> None:
        begun.append("bad")
        await gate.wait()
        raise Failed("bad source")

    async def good(report: Report) -> None:
        begun.append("good")
        report(5, 5)

    async def follow(work: object) -> list[tuple[int, int]]:
        return [step async for step in transfers.follow(DIGEST, 5, work)]  # type: ignore[arg-type]

    first = asyncio.create_task(follow(bad))
    await asyncio.sleep(0)
    second = asyncio.create_task(follow(good))
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(Failed, match="bad source"):
        await first
    assert (await second)[-1] == (5, 5)
    assert begun == ["bad", "good"]


async def test_closing_ends_what_runs() -> None:
    transfers = Transfers(report_s=0.001)
    ended: list[str] = []

    async def work(report: Report) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")

    steps = transfers.follow(DIGEST, 5, work)
    assert await anext(steps) == (0, 5)
    await asyncio.sleep(0)
    await transfers.aclose()
    assert ended == ["yes"]
    with pytest.raises(Cancelled):
        await anext(steps)
