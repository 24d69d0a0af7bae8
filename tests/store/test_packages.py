from pathlib import Path

import pytest

from ollama_tts.names import ModelName
from ollama_tts.store.model import ModelConfig
from ollama_tts.store.packages import PackageModel
from ollama_tts.store.store import Store
from tests.support.stores import Clock, blob_names, commit, names

TONE = PackageModel(
    ModelName.parse("tone"), ModelConfig("tone", context_length=5), ("MIT",), {"seed": 1}
)
NEWER = PackageModel(TONE.name, ModelConfig("tone", context_length=6), ("MIT",), {"seed": 1})
HIBARI = PackageModel(ModelName.parse("hibari"), ModelConfig("hibari"))


def reopened(models_dir: Path, *packages: PackageModel) -> Store:
    store = Store(models_dir)
    store.open(packages)
    return store


def test_they_are_there_from_the_first_start(models_dir: Path) -> None:
    store = reopened(models_dir, TONE, HIBARI)
    assert sorted(names(store)) == ["hibari:latest", "tone:latest"]
    tone = store.get(TONE.name)
    assert (tone.config, tone.licenses, tone.parameters) == (TONE.config, ("MIT",), {"seed": 1})
    assert (tone.files, tone.size_bytes > 0) == ({}, True)


def test_each_start_leaves_the_same_bytes(models_dir: Path) -> None:
    before = reopened(models_dir, TONE).get(TONE.name)
    assert reopened(models_dir, TONE).get(TONE.name) == before


def test_removed_is_removed_until_it_is_installed_again(models_dir: Path) -> None:
    store = reopened(models_dir, TONE, HIBARI)
    store.delete(ModelName.parse("TONE"))
    store = reopened(models_dir, TONE, HIBARI)
    assert names(store) == ["hibari:latest"]
    store.install(TONE)
    assert sorted(names(reopened(models_dir, TONE, HIBARI))) == ["hibari:latest", "tone:latest"]
    store.delete(TONE.name)
    assert names(reopened(models_dir, TONE, HIBARI)) == ["hibari:latest"]


def test_a_voice_that_is_installed_later_comes_at_the_next_start(models_dir: Path) -> None:
    reopened(models_dir, TONE)
    assert sorted(names(reopened(models_dir, TONE, HIBARI))) == ["hibari:latest", "tone:latest"]


def test_a_newer_package_renews_its_own_manifest(models_dir: Path) -> None:
    reopened(models_dir, TONE)
    store = reopened(models_dir, NEWER)
    assert store.get(TONE.name).config.context_length == 6
    store.delete(TONE.name)
    assert names(reopened(models_dir, TONE)) == []


def test_a_model_that_somebody_made_under_the_name_is_left_alone(models_dir: Path) -> None:
    commit(Store(models_dir), "Tone", parameters={"seed": 9})
    store = reopened(models_dir, TONE)
    assert store.get(TONE.name).parameters == {"seed": 9}
    store = reopened(models_dir, TONE)
    commit(store, "tone", parameters={"seed": 10})
    assert reopened(models_dir, NEWER).get(TONE.name).parameters == {"seed": 10}


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[]", b'{"../x":"y"}', b'{"tone":1}', b'{"tone":"sha256:x"}']
)
def test_a_damaged_record_brings_voices_back(models_dir: Path, record: bytes) -> None:
    reopened(models_dir, TONE).delete(TONE.name)
    (models_dir / "packages.json").write_bytes(record)
    assert names(reopened(models_dir, TONE)) == ["tone:latest"]


def test_blobs_of_a_removed_voice_go(models_dir: Path) -> None:
    store = reopened(models_dir, TONE)
    store.delete(TONE.name)
    assert blob_names(models_dir) == set()


def test_a_derived_model_outlives_the_voice(models_dir: Path, clock: Clock) -> None:
    store = reopened(models_dir, TONE)
    store.copy(TONE.name, ModelName.parse("mine"))
    store.delete(TONE.name)
    later = Store(models_dir, clock=clock)
    clock.advance(hours=3)
    later.open([TONE])
    assert later.get(ModelName.parse("mine")).config == TONE.config
