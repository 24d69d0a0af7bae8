from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from ollama_tts.backends.chattts.native.step import NativeShape, NativeStep, Part
from ollama_tts.backends.chattts.weights import Checkpoint
from ollama_tts.engine.step_model import Job, Prefill, Sampling
from ollama_tts.errors import LoadFailed, OutOfMemory, Unsupported
from tests.support.chattts import run_alone, step_model
from tests.support.native import TEXT_END, Runs, make_job, native_step, paths

MODES = ("fp32", "bf16", "int8")
EVERY = [(mode, path) for mode in MODES for path in paths()]
BLOCK_BYTES = 2 * 2 * 64 * 64 * 4  # layers, keys and values, positions, hidden, float32


@pytest.fixture(scope="module", params=EVERY, ids="-".join)
def step(request: pytest.FixtureRequest, tiny: Checkpoint) -> Iterator[NativeStep]:
    """The tiny model in every precision on every path."""
    mode, path = request.param
    made = native_step(tiny, mode=mode, path=path, threads=2)
    yield made
    made.close()


@pytest.fixture
def exact(tiny: Checkpoint) -> Iterator[NativeStep]:
    """The tiny model in fp32."""
    made = native_step(tiny)
    yield made
    made.close()


def together(step: NativeStep, jobs: list[Job]) -> dict[int, tuple[bytes, bytes, str]]:
    """All jobs at once, each in the slot of its place; those that end leave."""
    runs, done = Runs(step), {}
    for slot, job in enumerate(jobs):
        runs.start(slot, job)
    while runs.made:
        runs.turn(runs.live())
        for slot in set(runs.made) - set(runs.live()):
            done[slot] = runs.stop(slot).bits()
    return done


def alone(step: NativeStep, job: Job, slot: int = 0, cut: int = 4096) -> tuple[bytes, bytes, str]:
    runs = Runs(step)
    runs.start(slot, job)
    return runs.finish(slot, cut=cut).bits()


@pytest.mark.parametrize("path", paths())
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1e-5),
        Sampling(),
        Sampling(temperature=1.0, top_p=1.0, top_k=0, repeat_penalty=1.3),
        Sampling(temperature=0.8, top_p=0.1, top_k=1, repeat_penalty=0.9),
    ],
    ids=["greedy", "default", "open", "narrow"],
)
def test_the_same_tokens_as_torch(tiny: Checkpoint, path: str, sampling: Sampling) -> None:
    job = make_job(tiny, 5, max_tokens=200, min_tokens=200, sampling=sampling)
    expected = run_alone(step_model(tiny), job)
    native = native_step(tiny, path=path)
    runs = Runs(native)
    runs.start(0, job)
    made = runs.finish(0)
    native.close()
    np.testing.assert_array_equal(np.array(made.codes), expected.codes)


def test_ending_is_the_same_as_in_torch(tiny: Checkpoint, exact: NativeStep) -> None:
    open_end = Sampling(temperature=2.0, top_p=1.0, top_k=0)
    lengths = set()
    torch_model = step_model(tiny)
    for seed in range(12):
        job = make_job(tiny, seed, max_tokens=150, min_tokens=3, sampling=open_end)
        expected = run_alone(torch_model, job)
        runs = Runs(exact)
        runs.start(0, job)
        made = runs.finish(0)
        assert made.last == expected.outcome
        np.testing.assert_array_equal(np.array(made.codes), expected.codes)
        lengths.add((made.last, len(made.codes)))
    assert len([1 for kind, _ in lengths if kind == "end"]) > 3


def test_text_jobs_are_the_same_as_in_torch(tiny: Checkpoint, exact: NativeStep) -> None:
    job = make_job(tiny, 8, kind="text", max_tokens=60, min_tokens=60)
    torch_model = step_model(tiny, text_end=TEXT_END)
    expected = run_alone(torch_model, job).codes[:, 0].tolist()
    runs = Runs(exact)
    runs.start(0, job)
    while runs.live():
        runs.turn([0])
    assert exact.text(0) == expected
    exact.stop(0)


def test_noise_can_be_given(tiny: Checkpoint, exact: NativeStep) -> None:
    gpt = tiny.config.gpt
    noise = torch.empty(gpt.num_vq, gpt.num_audio_tokens)
    noise.exponential_(1, generator=torch.Generator().manual_seed(3))

    def given_noise(seed: torch.Tensor, step: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return noise.expand(len(ids), -1, -1).gather(-1, ids)

    job = make_job(tiny, 5, max_tokens=100, min_tokens=100)
    expected = run_alone(step_model(tiny, noise=given_noise), job)
    runs = Runs(exact)
    runs.start(0, job, noise=noise.numpy())
    np.testing.assert_array_equal(np.array(runs.finish(0).codes), expected.codes)


def test_alone_or_together_is_bit_equal(tiny: Checkpoint, step: NativeStep) -> None:
    jobs = [
        make_job(tiny, seed, length=3 + 5 * seed, max_tokens=20 + seed, min_tokens=20 + seed)
        for seed in range(13)
    ]
    jobs += [make_job(tiny, seed, kind="text", max_tokens=15) for seed in (20, 21, 22)]
    shared = together(step, jobs)
    assert [shared[slot] for slot in range(16)] == [alone(step, job) for job in jobs]


@pytest.mark.parametrize("cut", [1, 7, 16])
def test_how_a_prompt_is_cut_changes_nothing(tiny: Checkpoint, step: NativeStep, cut: int) -> None:
    job = make_job(tiny, 3, length=75, max_tokens=12, min_tokens=12)
    assert alone(step, job, cut=cut) == alone(step, job)


def test_the_slot_and_what_ran_there_before_change_nothing(
    tiny: Checkpoint, step: NativeStep
) -> None:
    first = alone(step, make_job(tiny, 3, length=70, max_tokens=90, min_tokens=90), slot=5)
    alone(step, make_job(tiny, 4, length=200, max_tokens=30), slot=5)
    again = make_job(tiny, 3, length=70, max_tokens=90, min_tokens=90)
    assert alone(step, again, slot=5) == first == alone(step, again, slot=11)


@pytest.mark.parametrize("mode", MODES)
def test_threads_change_nothing(tiny: Checkpoint, mode: str) -> None:
    jobs = [make_job(tiny, seed, max_tokens=20) for seed in range(5)]
    results = []
    for threads in (1, 2, 5):
        step = native_step(tiny, mode=mode, threads=threads)
        results.append(together(step, jobs))
        step.close()
    assert results[0] == results[1] == results[2]


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_schedule_gives_the_same_tokens(
    tiny: Checkpoint, step: NativeStep, data: st.DataObject
) -> None:
    jobs = [make_job(tiny, seed, length=4 + 9 * seed, max_tokens=12) for seed in range(6)]
    for slot in range(8):  # what an example that was cut short left behind
        step.stop(slot)
    runs, waiting, done = Runs(step), list(range(6)), dict[int, object]()
    slots = dict[int, int]()
    while len(done) < 6:
        free = [slot for slot in range(8) if slot not in runs.made]
        if waiting and (not runs.made or data.draw(st.booleans())):
            number = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            slot = data.draw(st.sampled_from(free))
            slots[slot] = number
            runs.start(slot, jobs[number])
        chosen = data.draw(st.lists(st.sampled_from(sorted(runs.made)), min_size=1, unique=True))
        if len(chosen) > 1 and data.draw(st.integers(0, 9)) == 0:  # leaves, and comes again
            gone = chosen.pop()
            runs.stop(gone)
            waiting.append(slots.pop(gone))
        runs.turn(chosen, cut=data.draw(st.integers(1, 20)))
        for slot in set(runs.made) - set(runs.live()):
            done[slots.pop(slot)] = runs.stop(slot).bits()
    assert [done[number] for number in range(6)] == [alone(step, job) for job in jobs]


@pytest.mark.parametrize(("mode", "most"), [("fp32", 2e-5), ("bf16", 0.05), ("int8", 0.15)])
@pytest.mark.parametrize("path", paths())
def test_hidden_states_and_logits_are_close_to_torch(
    tiny: Checkpoint, mode: str, path: str, most: float
) -> None:
    job = make_job(tiny, 2, length=60)
    exact, step = native_step(tiny, path="portable"), native_step(tiny, mode=mode, path=path)
    assert step.path == path
    for made in (exact, step):
        made.start(0, job)
    (hidden, logits), (expected, expected_logits) = step.read(0, 0, 60), exact.read(0, 0, 60)
    assert logits.shape == (60, 4, 626)
    assert np.abs(hidden - expected).max() < most * np.abs(expected).max()
    assert np.abs(logits - expected_logits).max() < most * np.abs(expected_logits).max()
    exact.close()
    step.close()


def test_reading_a_prompt_in_parts_gives_the_same_logits(
    tiny: Checkpoint, step: NativeStep
) -> None:
    job = make_job(tiny, 2, length=30)
    step.start(0, job)
    whole, _ = step.read(0, 0, 30)
    step.stop(0)
    step.start(0, job)
    parts = [step.read(0, start, start + 10)[0] for start in (0, 10, 20)]
    step.stop(0)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_text_logits_can_be_read(tiny: Checkpoint, exact: NativeStep) -> None:
    exact.start(0, make_job(tiny, 2, kind="text"))
    assert exact.read(0, 0, 5)[1].shape == (5, 1200)


def test_a_row_that_is_not_finite_fails_alone(tiny: Checkpoint, step: NativeStep) -> None:
    good = [make_job(tiny, seed, max_tokens=10, min_tokens=10) for seed in range(4)]
    for poison in (np.nan, np.inf):
        bad = make_job(tiny, 9)
        bad.prompt.injected[:] = poison
        runs = Runs(step)
        for slot, job in enumerate([*good[:2], bad, *good[2:]]):
            runs.start(slot, job)
        while runs.live():
            runs.turn(runs.live())
        assert runs.made[2].last == "failed"
        assert runs.made[2].codes == []
        results = [runs.stop(slot).bits() for slot in range(5)]
        assert [results[i] for i in (0, 1, 3, 4)] == [alone(step, job) for job in good]


def test_cache_memory_is_bounded_and_comes_back(tiny: Checkpoint) -> None:
    step = native_step(tiny, cache_bytes=3 * BLOCK_BYTES)
    jobs = [make_job(tiny, seed, length=60, max_tokens=30, min_tokens=30) for seed in range(3)]
    expected = [alone(step, job) for job in jobs]
    runs = Runs(step)
    for slot, job in enumerate(jobs):
        runs.start(slot, job)
    assert step.cache_bytes(used=True) == 3 * BLOCK_BYTES
    with pytest.raises(OutOfMemory):
        step.start(3, jobs[0])
    for _ in range(5):
        runs.turn([0, 1, 2])
    with pytest.raises(OutOfMemory):
        runs.turn([0, 1, 2])
    runs.stop(2)
    done = runs.finish(0).bits()
    assert done == expected[0]
    assert runs.finish(1).bits() == expected[1]
    assert step.cache_bytes(used=True) == 0
    assert alone(step, jobs[2]) == expected[2]
    assert step.cache_bytes() == 3 * BLOCK_BYTES
    step.close()


def test_a_step_without_memory_changes_nothing(tiny: Checkpoint) -> None:
    step = native_step(tiny, cache_bytes=2 * BLOCK_BYTES)
    job = make_job(tiny, 1, length=60, max_tokens=40, min_tokens=40)
    expected = alone(step, job)
    runs = Runs(step)
    runs.start(0, job)
    step.start(1, make_job(tiny, 2, length=100))
    while len(runs.made[0].codes) < 4:
        runs.turn([0])
    for _ in range(3):
        with pytest.raises(OutOfMemory):
            step.step([Prefill(1, 0, 100)], [0])
    step.stop(1)
    assert runs.finish(0).bits() == expected
    step.close()


def test_calls_that_cannot_be_meant_are_refused(tiny: Checkpoint, exact: NativeStep) -> None:
    job = make_job(tiny, 1)
    exact.start(0, job)
    for refused in (
        lambda: exact.start(0, job),
        lambda: exact.start(16, job),
        lambda: exact.start(-1, job),
        lambda: exact.start(1, make_job(tiny, 1, length=512)),
        lambda: exact.step([Prefill(0, 3, 5)], []),
        lambda: exact.step([Prefill(0, 0, 13)], []),
        lambda: exact.step([Prefill(7, 0, 5)], []),
        lambda: exact.step([], [0]),
        lambda: exact.step([], [7]),
        lambda: exact.read(0, 5, 7),
    ):
        with pytest.raises(ValueError, match="does not fit"):
            refused()
    assert alone(exact, job, slot=1) == alone(exact, job, slot=2)
    exact.stop(0)
    exact.stop(0)


@pytest.mark.parametrize(
    ("row", "text", "value"), [(0, True, 1200), (11, False, 626), (3, True, -1)]
)
def test_ids_out_of_range_are_refused(
    tiny: Checkpoint, exact: NativeStep, row: int, text: bool, value: int
) -> None:
    job = make_job(tiny, 1)
    assert job.prompt.is_text[row] == text
    job.prompt.ids[row, 0] = value
    with pytest.raises(ValueError, match="does not fit"):
        exact.start(0, job)


def test_the_last_position_can_be_filled(tiny: Checkpoint) -> None:
    step = native_step(tiny, positions=64)
    job = make_job(tiny, 1, length=60, max_tokens=100, min_tokens=100)
    runs = Runs(step)
    runs.start(0, job)
    for _ in range(5):
        runs.turn([0])
    with pytest.raises(ValueError, match="does not fit"):
        runs.turn([0])
    step.close()


SIZES = NativeShape(hidden=64, layers=1, heads=2, inner=64, texts=8, text_end=1)


@pytest.mark.parametrize(
    "shape",
    [
        replace(SIZES, hidden=48),
        replace(SIZES, heads=3),
        replace(SIZES, inner=40),
        replace(SIZES, layers=0),
        replace(SIZES, threads=0),
        replace(SIZES, hidden=512, heads=2),
    ],
)
def test_shapes_that_it_cannot_do_are_refused(shape: NativeShape) -> None:
    with pytest.raises(Unsupported, match="does not support"):
        NativeStep(shape)


def test_weights_are_counted_and_checked(tiny: Checkpoint) -> None:
    step = NativeStep(SIZES)
    assert not step.ready
    with pytest.raises(LoadFailed, match="rows of 32 values, not 64"):
        step.fill(Part.QUERY, np.zeros((64, 32), np.float32))
    with pytest.raises(LoadFailed, match="no rows"):
        step.fill(Part.QUERY, np.zeros((65, 64), np.float32))
    with pytest.raises(LoadFailed, match="no rows"):
        step.fill(Part.QUERY, np.zeros((1, 64), np.float32), layer=1)
    with pytest.raises(LoadFailed, match="int64"):
        step.fill(Part.QUERY, np.zeros((64, 64), np.int64))
    step.close()
    step.close()


def test_half_precision_weights_give_the_same_as_their_values_in_float32(tiny: Checkpoint) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0, 0.1, (64, 64)).astype(np.float16)
    values[0, :4] = [0.0, -0.0, 6e-8, -6.1e-5]
    bits = rng.normal(0, 0.1, (64, 64)).astype(np.float32).view(np.uint32) >> 16
    wide = {"half": values.astype(np.float32), "bf": (bits << 16).view(np.float32)}
    given = {"half": values, "bf": bits.astype(np.uint16)}
    for kind, exact in wide.items():
        results = []
        for matrix in (exact, given[kind]):
            step = native_step(tiny)
            step.fill(Part.QUERY, matrix)
            step.start(0, make_job(tiny, 1))
            results.append(step.read(0, 0, 12)[0].tobytes())
            step.close()
        assert results[0] == results[1]


def test_precision_decides_the_memory(tiny: Checkpoint) -> None:
    weights = {}
    for mode in MODES:
        step = native_step(tiny, mode=mode)
        weights[mode] = step.weight_bytes
        step.close()
    assert weights["int8"] < weights["bf16"] < weights["fp32"]
