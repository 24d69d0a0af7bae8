from hypothesis import given, strategies as st

from ollama_tts.engine.step_model import Geometry, Window
from ollama_tts.engine.windows import PACES, Pace, Windows

GEOMETRY = Geometry(slots=1, positions=4096)


def windows_of(pace: Pace, tokens: int, geometry: Geometry = GEOMETRY) -> list[Window]:
    """The windows of an utterance of `tokens` tokens that ends by itself."""
    windows = Windows(pace, geometry)
    found = [windows.take(3, n, ended=False) for n in range(1, tokens + 1)]
    return [w for w in [*found, windows.take(3, tokens, ended=True)] if w is not None]


@given(st.sampled_from(sorted(PACES)), st.integers(1, 600))
def test_every_sample_comes_once_and_in_order(latency: str, tokens: int) -> None:
    windows = windows_of(PACES[latency], tokens)
    position = 0
    for window in windows:
        assert window.keep_start == position
        position = window.keep_stop
    assert position == GEOMETRY.samples(tokens)
    assert [w.final for w in windows] == [False] * (len(windows) - 1) + [True]


@given(st.sampled_from(sorted(PACES)), st.integers(1, 600))
def test_a_window_has_the_context_that_it_needs(latency: str, tokens: int) -> None:
    pace = PACES[latency]
    for window in windows_of(pace, tokens):
        first, beyond = window.keep_start // 512, -(-window.keep_stop // 512)
        assert window.start == max(0, first - 52)
        assert window.stop <= tokens
        assert window.final or window.stop == beyond + pace.look_ahead


@given(st.sampled_from(sorted(PACES)), st.integers(1, 300), st.integers(0, 300))
def test_sound_sent_does_not_depend_on_what_follows(latency: str, tokens: int, more: int) -> None:
    pace = PACES[latency]
    short, long = windows_of(pace, tokens), windows_of(pace, tokens + more)
    assert short[:-1] == long[: len(short) - 1]


def test_exact_looks_as_far_as_the_decoder_does() -> None:
    assert PACES["exact"].look_ahead == GEOMETRY.context_steps


def test_chunks_begin_small_and_grow() -> None:
    stops = [w.stop for w in windows_of(PACES["low"], 300)]
    assert stops == [16, 28, 40, 52, 66, 82, 102, 126, 158, 206, 254, 300]


def test_an_utterance_that_ends_before_its_first_chunk_is_one_window() -> None:
    assert windows_of(PACES["exact"], 5) == [Window(3, 0, 5, 0, 5 * 512 - 256, final=True)]


def test_the_same_windows_come_again() -> None:
    windows = Windows(PACES["low"], GEOMETRY)
    first = [windows.take(0, n, ended=False) for n in range(1, 60)]
    again = windows.again()
    assert [again.take(0, n, ended=False) for n in range(1, 60)] == first


def test_a_voice_of_other_sizes() -> None:
    geometry = Geometry(slots=1, positions=64, step_samples=320, tail_samples=0, context_steps=3)
    windows = windows_of(Pace(look_ahead=2, first=2, chunks=(4,)), 9, geometry)
    assert [(w.start, w.stop, w.keep_start, w.keep_stop) for w in windows] == [
        (0, 4, 0, 640),
        (0, 8, 640, 1920),
        (3, 9, 1920, 2880),
    ]
