import json

import pytest
from hypothesis import given, strategies as st

from ollama_tts.cli.bench import Figures, Spoken, figures, percentile, ratios
from tests.cli.conftest import Cli


def test_the_figures_of_known_answers() -> None:
    spoken = [Spoken(first_s, 1.0, 4.0, 200) for first_s in (0.1, 0.2, 0.3, 0.4)]
    found = figures(spoken, 2, wall_s=2.0)
    assert found == Figures(2, 4, 250.0, 400.0, 0.25, 0.25, 8.0, 400.0)
    slow = figures([Spoken(1.0, 4.0, 4.0, 200)] * 4, 2, wall_s=8.0)
    assert ratios(found, slow) == {"first_audio": 4.0, "audio_s_per_s": 4.0, "steps_per_s": 4.0}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_a_value_that_enough_do_not_exceed(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 0.5


def test_bench_measures_each_concurrency(either: Cli) -> None:
    done = either("bench", "tone", "--concurrency", "1,3", "--requests", "2", "--json")
    assert done.status == 0
    report = json.loads(done.out)
    assert report["model"] == "tone"
    assert report["where"].startswith(("http://127.0.0.1:", "in this process"))
    assert [run["model"]["concurrency"] for run in report["runs"]] == [1, 3]
    assert [run["model"]["requests"] for run in report["runs"]] == [2, 6]
    for run in report["runs"]:
        assert run["baseline"] is None
        assert all(value > 0 for value in run["model"].values())


def test_bench_prints_a_table(alone: Cli) -> None:
    done = alone("bench", "tone", "--requests", "1", "--text", "Short.")
    about, head, row = done.text.splitlines()
    assert about == "6 characters, in this process"
    assert head.split()[:2] == ["CONCURRENCY", "REQUESTS"]
    assert row.split()[:3] == ["tone", "1", "1"]


@pytest.mark.parametrize("model", ["tone", "hibari"])
def test_a_baseline_that_is_none_is_refused(online: Cli, model: str) -> None:
    done = online("bench", model, "--baseline", "reference")
    assert done.status == 1
    assert f"Error: model '{model}' (format {model}) has no backend 'reference'" in done.error
