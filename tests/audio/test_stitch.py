from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from ollama_tts.audio.stitch import (
    FADE_MS,
    LEAD_MS,
    PAUSES_MS,
    SILENCE,
    TAIL_MS,
    Boundary,
    Stitcher,
    pause_ms,
)
from tests.support.sounds import Sound, pieces, sine

RATE_HZ = 24_000
FADE = RATE_HZ * FADE_MS // 1000


@dataclass(frozen=True)
class Said:
    """An utterance: how long it is silent, loud, silent, and the pause before it, all in ms."""

    pause: int = 0
    lead: int = 0
    loud: int = 200
    tail: int = 0

    @property
    def sound(self) -> Sound:
        loud = np.where(np.arange(self.loud * 24) % 48 < 24, 0.5, -0.5)
        return np.concatenate([silence(self.lead), loud, silence(self.tail)]).astype(np.float32)


def silence(ms: int) -> NDArray[np.float64]:
    """A faint tone rather than zeros, so that it can be told which samples were kept."""
    return np.sin(np.arange(ms * 24)) * 0.9 * SILENCE


def stitch(said: list[Said], cuts: list[int] | None = None, gain_db: float = 0.0) -> Sound:
    stitcher = Stitcher(RATE_HZ, gain_db=gain_db)
    parts = []
    for one in said:
        stitcher.begin(one.pause)
        parts += [stitcher.feed(piece) for piece in pieces(one.sound, cuts or [])]
        parts.append(stitcher.end())
    return np.concatenate(parts)


def gaps_ms(sound: Sound) -> list[float]:
    """Silence between loud samples wherever it is longer than a millisecond or two."""
    loud = np.flatnonzero(np.abs(sound) >= SILENCE)
    return [float(gap) / 24 for gap in np.diff(loud) - 1 if gap > 48]


MS = st.integers(0, 700)
UTTERANCES = st.lists(st.builds(Said, pause=MS, lead=MS, loud=MS, tail=MS), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(said=UTTERANCES, cuts=st.lists(st.integers(0, 30_000), max_size=12))
def test_however_it_is_cut_the_result_is_that_of_the_whole(
    said: list[Said], cuts: list[int]
) -> None:
    result = stitch(said, cuts)
    assert np.array_equal(result, stitch(said))
    assert result.dtype == np.float32


@pytest.mark.parametrize("amplitude", [0.01, 0.5, 1.2])
def test_a_tone_passes_unchanged_inside_its_fades(amplitude: float) -> None:
    stitcher = Stitcher(RATE_HZ)
    tone = sine(1.0, RATE_HZ, amplitude=amplitude)
    stitcher.begin()
    result = np.concatenate([stitcher.feed(tone), stitcher.end()])
    assert len(result) == len(tone)
    assert np.array_equal(result[FADE:-FADE], tone[FADE:-FADE])


def test_edges_fade_so_that_no_click_arises() -> None:
    result = stitch([Said(loud=100), Said(pause=200, loud=100)])
    edge = np.abs(result[[0, 100 * 24 - 1, 300 * 24, -1]])
    assert edge.max() < 0.001
    ramp = np.abs(result[:FADE])
    assert np.all(np.diff(ramp) > 0)
    assert ramp[-1] == pytest.approx(0.5, abs=0.001)


@settings(deadline=None)
@given(lead=MS, tail=MS, pause=st.integers(LEAD_MS + TAIL_MS, 2000))
def test_the_pause_is_the_one_asked_for_whatever_silence_the_voice_adds(
    lead: int, tail: int, pause: int
) -> None:
    [gap] = gaps_ms(stitch([Said(tail=tail), Said(pause=pause, lead=lead)]))
    # the fade makes the first and last samples of an abrupt sound count as silence
    assert gap == pytest.approx(pause, abs=0.5)


def test_without_a_pause_edge_silence_is_still_short() -> None:
    [gap] = gaps_ms(stitch([Said(tail=600), Said(pause=0, lead=600)]))
    assert gap == pytest.approx(LEAD_MS + TAIL_MS, abs=0.5)
    assert gaps_ms(stitch([Said(), Said(pause=0)])) == []


def test_a_tail_of_ten_seconds_is_cut() -> None:
    result = stitch([Said(loud=1000, tail=10_000)], cuts=list(range(0, 300_000, 480)))
    assert len(result) == (1000 + TAIL_MS) * 24


def test_a_pause_inside_an_utterance_is_kept_sample_for_sample() -> None:
    inner = np.concatenate([Said(tail=3000).sound, Said().sound])
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin()
    parts = [stitcher.feed(part) for part in np.split(inner, range(480, len(inner), 480))]
    result = np.concatenate([*parts, stitcher.end()])
    assert np.array_equal(result[FADE:-FADE], inner[FADE:-FADE])


def test_the_first_utterance_waits_for_no_pause_and_starts_soon() -> None:
    assert len(stitch([Said(pause=5000)])) == 200 * 24
    assert len(stitch([Said(lead=600)])) == 300 * 24


def test_silence_at_the_start_is_given_at_once() -> None:
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin()
    assert len(stitcher.feed(np.zeros(60 * 24, np.float32))) == 20 * 24


def test_sound_is_held_back_no_longer_than_a_fade() -> None:
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin()
    assert len(stitcher.feed(sine(0.1, RATE_HZ))) == 100 * 24 - FADE


def test_a_pause_is_given_before_the_next_sound_is_there() -> None:
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin()
    stitcher.feed(Said().sound)
    stitcher.end()
    stitcher.begin(300)
    assert len(stitcher.feed(np.zeros(1, np.float32))) == (300 - LEAD_MS) * 24


def test_an_utterance_without_sound_is_short_and_takes_no_pause_away() -> None:
    assert len(stitch([Said(loud=0, lead=2000)])) == 500 * 24
    with_nothing = [Said(), Said(pause=700, loud=0), Said(pause=100)]
    assert gaps_ms(stitch(with_nothing)) == [pytest.approx(700, abs=0.5)]


def test_nothing_comes_of_nothing() -> None:
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin(200)
    assert len(stitcher.end()) == len(stitcher.end()) == 0


def test_ending_twice_adds_nothing() -> None:
    stitcher = Stitcher(RATE_HZ)
    stitcher.begin()
    stitcher.feed(Said(tail=300).sound)
    assert len(stitcher.end()) > 0
    assert len(stitcher.end()) == 0


def test_gain_scales_once_and_does_not_decide_what_silence_is() -> None:
    said = [Said(lead=300, tail=300), Said(pause=200)]
    plain, quiet = stitch(said), stitch(said, gain_db=-60.0)
    assert np.allclose(quiet, plain * 0.001, rtol=1e-5)
    assert np.abs(stitch(said, gain_db=6.0206)).max() == pytest.approx(1.0, rel=1e-4)


def test_the_input_is_left_alone() -> None:
    sound = Said().sound
    before = sound.copy()
    stitcher = Stitcher(RATE_HZ)
    stitcher.feed(sound)
    stitcher.end()
    assert np.array_equal(sound, before)


def test_pauses_grow_with_the_boundary_and_the_option_scales_them() -> None:
    kinds: list[Boundary] = ["none", "clause", "sentence", "line", "paragraph"]
    usual = [pause_ms(kind) for kind in kinds]
    assert usual == sorted(set(usual))
    assert [pause_ms(kind, PAUSES_MS["sentence"] * 2) for kind in kinds] == [2 * ms for ms in usual]
    assert [pause_ms(kind, 0) for kind in kinds] == [0] * 5
    assert pause_ms("sentence", 1234) == 1234
