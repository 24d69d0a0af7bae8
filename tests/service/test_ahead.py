"""What a reader of one utterance gets, early and late."""

import numpy as np

from ollama_tts.engine.utterance import Piece, Utterance
from ollama_tts.options import SpeechOptions
from ollama_tts.service.ahead import GATHERED_SAMPLES, Line
from ollama_tts.text.account import PreparedUtterance


def line(*pieces: Piece | None) -> Line:
    prepared = PreparedUtterance("Hi", "Hi", "en", (), 0, 2)
    made = Line(prepared, Utterance("Hi", "en", SpeechOptions(), seed=1))
    for piece in pieces:
        made.mailbox.put_nowait(piece)
    return made


def piece(first: int, count: int, *, last: bool = False) -> Piece:
    samples = np.arange(first, first + count, dtype=np.float32)
    return Piece(samples, 1, "stop" if last else None)


async def test_the_first_goes_alone_and_what_gathered_behind_it_as_one() -> None:
    late = line(piece(0, 2), piece(2, 3), piece(5, 1), piece(6, 4, last=True), None)
    first, rest = await late.next(), await late.next()
    assert first is not None
    assert rest is not None
    assert first.samples.tolist() == [0, 1]
    assert rest.samples.tolist() == list(range(2, 10))
    assert (rest.steps, rest.finish) == (3, "stop")
    assert await late.next() is None


async def test_whoever_comes_in_time_waits_for_nobody() -> None:
    early = line(piece(0, 2), piece(2, 3))
    for expected in (2, 3):
        got = await early.next()
        assert got is not None
        assert len(got.samples) == expected
    early.mailbox.put_nowait(piece(5, 1))
    got = await early.next()
    assert got is not None
    assert len(got.samples) == 1


async def test_gathering_is_bounded() -> None:
    late = line(piece(0, 1), *(piece(0, GATHERED_SAMPLES // 2) for _ in range(4)))
    sizes = []
    while not late.mailbox.empty():
        got = await late.next()
        assert got is not None
        sizes.append(len(got.samples))
    assert sizes == [1, GATHERED_SAMPLES, GATHERED_SAMPLES]
