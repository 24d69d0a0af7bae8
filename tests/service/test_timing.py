from ollama_tts.service.timing import Listening


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_the_first_sound_is_timed_once() -> None:
    clock = Clock()
    listening = Listening(clock)
    clock.now_s += 0.25
    assert not listening.heard(0.0)
    assert listening.heard(0.1)
    assert not listening.heard(0.1)
    assert listening.first_audio_s == 0.25


def test_sound_that_comes_after_the_last_was_played_out_is_an_underrun() -> None:
    clock = Clock()
    listening = Listening(clock)
    listening.heard(1.0)
    clock.now_s += 0.9
    listening.heard(0.5)
    assert listening.underruns == 0
    clock.now_s += 0.7
    listening.heard(0.5)
    assert listening.underruns == 1
    clock.now_s += 0.4
    listening.heard(0.5)
    assert listening.underruns == 1
    assert listening.elapsed_s() == clock.now_s - 100.0
