import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ollama_tts.errors import BlobNotFound, InvalidRequest, ModelNotFound, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.store import manifests
from ollama_tts.store.manifests import MAX_MANIFEST_BYTES, Layer, Manifest, encode_manifest
from ollama_tts.store.model import Message, ModelConfig
from ollama_tts.store.store import Store
from tests.support.stores import Clock, blob_names, commit, names, upload

parse = ModelName.parse


def test_an_empty_or_absent_folder_holds_nothing(store: Store, models_dir: Path) -> None:
    assert store.list() == []
    assert not models_dir.exists()
    with pytest.raises(ModelNotFound, match=r"^model 'm:latest' not found$"):
        store.get(parse("m"))


def test_a_model_as_its_parts(store: Store, models_dir: Path) -> None:
    made = commit(
        store,
        "me/voice:v1",
        {"asset/gpt/model.safetensors": b"gpt", "config.json": b"{}"},
        config=ModelConfig("chattts", context_length=7, info={"a.b": 1}),
        parameters={"seed": 1, "stop": ["x"]},
        texts={
            manifests.TEMPLATE: "{{ .Prompt }}",
            manifests.SYSTEM: "calm",
            manifests.LICENSE: "MIT",
            manifests.MESSAGES: '[{"role":"user","content":"hi"}]',
        },
    )
    model = store.get(parse("me/voice:v1"))
    assert model == made
    assert (model.name.short, model.config.context_length) == ("me/voice:v1", 7)
    assert {name: path.read_bytes() for name, path in model.files.items()} == {
        "asset/gpt/model.safetensors": b"gpt",
        "config.json": b"{}",
    }
    assert model.parameters == {"seed": 1, "stop": ["x"]}
    assert (model.template, model.system, model.licenses) == ("{{ .Prompt }}", "calm", ("MIT",))
    assert model.messages == (Message("user", "hi"),)
    manifest = models_dir / "manifests/registry.ollama.ai/me/voice/v1"
    assert model.digest == Digest.of(manifest.read_bytes())
    assert model.size_bytes == store.manifest(parse("me/voice:v1")).manifest.size_bytes
    assert store.read(model.name) == (model, store.manifest(model.name).manifest)


def test_a_gguf_of_stock_ollama_has_a_name(store: Store) -> None:
    size = len(b"weights")
    layer = Layer(manifests.MODEL, upload(store, b"weights"), size)
    bad = Layer(manifests.FILE, layer.digest, size, "../../evil")
    config = upload(store, b"{}")
    manifest = Manifest(Layer(manifests.CONFIG_MEDIA_TYPE, config, 2), (layer, bad))
    model = store.commit(parse("m"), manifest, {})
    assert set(model.files) == {"model.gguf", layer.digest.filename}


def test_weights_key(store: Store) -> None:
    base = commit(store, "a", {"x": b"1", "y": b"2"})
    derived = commit(store, "b", {"y": b"2", "x": b"1"}, parameters={"seed": 3})
    other = commit(store, "c", {"x": b"1", "y": b"3"})
    swapped = commit(store, "d", {"x": b"2", "y": b"1"})
    of_other_kind = commit(store, "e", {"x": b"1", "y": b"2"}, config=ModelConfig("chattts"))
    keys = [m.weights_key for m in (base, derived, other, swapped, of_other_kind)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_any_case_and_the_spelling_that_was_first(store: Store) -> None:
    commit(store, "Me/Voice:V1")
    assert store.get(parse("mE/vOICE:v1")).name.short == "Me/Voice:V1"
    commit(store, "me/voice:v1", parameters={"seed": 1})
    assert names(store) == ["Me/Voice:V1"]
    assert store.get(parse("ME/VOICE:V1")).parameters == {"seed": 1}
    commit(store, "me/voice:V2")
    assert names(store) == ["Me/Voice:V2", "Me/Voice:V1"]
    store.copy(parse("me/voice:v2"), parse("ME/voice:v1"))
    assert sorted(names(store)) == ["Me/Voice:V1", "Me/Voice:V2"]
    store.delete(parse("ME/VOICE:v1"))
    assert names(store) == ["Me/Voice:V2"]


def test_an_exact_spelling_wins_where_a_file_system_holds_two(
    store: Store, models_dir: Path
) -> None:
    commit(store, "voice")
    folder = models_dir / "manifests/registry.ollama.ai/library"
    (folder / "VOICE").mkdir()
    (folder / "VOICE/latest").write_bytes((folder / "voice/latest").read_bytes())
    assert store.get(parse("voice")).name.model == "voice"
    assert store.get(parse("VOICE")).name.model == "VOICE"
    assert store.get(parse("Voice")).name.model == "VOICE"


def test_newest_first(store: Store, models_dir: Path) -> None:
    for name in ("a", "b", "c"):
        commit(store, name)
    folder = models_dir / "manifests/registry.ollama.ai/library"
    os.utime(folder / "b/latest", (4_000_000_000, 4_000_000_000))
    assert names(store)[0] == "b:latest"
    assert store.list()[0].modified_at == datetime.fromtimestamp(4_000_000_000, UTC)


def test_a_change_from_outside_is_seen(store: Store, models_dir: Path) -> None:
    commit(store, "m", parameters={"seed": 1})
    assert store.get(parse("m")).parameters == {"seed": 1}
    commit(Store(models_dir), "m", parameters={"seed": 2})
    assert store.get(parse("m")).parameters == {"seed": 2}
    Store(models_dir).delete(parse("m"))
    assert names(store) == []
    with pytest.raises(ModelNotFound):
        store.get(parse("m"))


def test_replacing_a_model_frees_what_only_the_old_one_used(store: Store, models_dir: Path) -> None:
    commit(store, "a", {"x": b"old", "y": b"shared"})
    commit(store, "b", {"y": b"shared"})
    before = blob_names(models_dir)
    commit(store, "a", {"x": b"new"})
    assert Digest.of(b"old").filename in before - blob_names(models_dir)
    assert store.blobs.has(Digest.of(b"shared"))
    assert store.blobs.has(Digest.of(b"new"))


def test_what_was_made_for_a_model_comes_and_goes_with_it(store: Store, models_dir: Path) -> None:
    other = commit(store, "other", {"a": b"other"})
    with store.blobs.writing() as first, store.blobs.writing() as second:
        for writer in (first, second):
            writer.write(b"made")
        manifest = Manifest(
            store.manifest(other.name).manifest.config,
            (Layer(manifests.MODEL, first.digest, first.size_bytes, "a"),),
        )
        store.commit(parse("m"), manifest, {}, first)
        store.copy(other.name, parse("m"))
        assert not store.blobs.has(first.digest)
        store.commit(parse("m"), manifest, {}, second)
    assert store.get(parse("m")).files["a"].read_bytes() == b"made"
    store.delete(parse("m"))
    before = blob_names(models_dir)
    with store.blobs.writing() as third:
        third.write(b"made")
        torn = Manifest(manifest.config, (Layer(manifests.MODEL, third.digest, 3, "a"),))
        with pytest.raises(InvalidRequest, match="has 4 bytes, not 3"):
            store.commit(parse("m"), torn, {}, third)
    assert blob_names(models_dir) == before


def test_without_pruning_replaced_blobs_stay_and_deleted_ones_go(models_dir: Path) -> None:
    store = Store(models_dir, prune=False)
    commit(store, "a", {"x": b"old"})
    commit(store, "a", {"x": b"new"})
    store.open()
    assert store.blobs.has(Digest.of(b"old"))
    store.delete(parse("a"))
    assert store.blobs.has(Digest.of(b"old"))
    assert not store.blobs.has(Digest.of(b"new"))


def test_copies_share_blobs_until_the_last_is_gone(store: Store, models_dir: Path) -> None:
    commit(store, "a", {"x": b"weights"})
    store.copy(parse("a"), parse("b"))
    store.copy(parse("a"), parse("ns/c:t"))
    assert {model.digest for model in store.list()} == {store.get(parse("a")).digest}
    assert store.delete(parse("a")).files == 0
    assert store.delete(parse("b")).files == 0
    assert store.get(parse("ns/c:t")).files["x"].read_bytes() == b"weights"
    freed = store.delete(parse("NS/C:T"))
    assert (freed.files, blob_names(models_dir)) == (2, set())
    assert list((models_dir / "manifests").iterdir()) == []


def test_copy_onto_itself_changes_nothing(store: Store) -> None:
    made = commit(store, "a", {"x": b"weights"})
    store.copy(parse("a"), parse("A"))
    assert store.list() == [made]


def test_copy_of_nothing(store: Store) -> None:
    with pytest.raises(ModelNotFound):
        store.copy(parse("a"), parse("b"))
    assert names(store) == []


def test_delete_twice(store: Store) -> None:
    commit(store, "a")
    store.delete(parse("a:latest"))
    with pytest.raises(ModelNotFound):
        store.delete(parse("a"))


def test_a_missing_blob_does_not_block_deletion(store: Store, models_dir: Path) -> None:
    model = commit(store, "a", {"x": b"weights"}, parameters={"seed": 1})
    for path in (models_dir / "blobs").iterdir():
        path.unlink()
    assert store.delete(model.name).files == 0
    assert names(store) == []


def test_a_blob_that_is_named_twice_is_freed_once(store: Store) -> None:
    commit(store, "a", {"x": b"weights", "y": b"weights"})
    freed = store.delete(parse("a"))
    assert (freed.files, store.blobs.has(Digest.of(b"weights"))) == (2, False)


def test_nothing_changes_when_a_blob_is_missing_or_of_another_size(
    store: Store, models_dir: Path
) -> None:
    config = b'{"model_format":"tone"}'
    contents = {Digest.of(config): config}
    config_layer = Layer(manifests.CONFIG_MEDIA_TYPE, Digest.of(config), len(config))
    absent = Layer(manifests.FILE, Digest.of(b"absent"), 6, "x")
    with pytest.raises(BlobNotFound, match=str(Digest.of(b"absent"))):
        store.commit(parse("m"), Manifest(config_layer, (absent,)), contents)
    wrong = Layer(manifests.FILE, upload(store, b"12345"), 4, "x")
    with pytest.raises(InvalidRequest, match="has 5 bytes, not 4"):
        store.commit(parse("m"), Manifest(config_layer, (wrong,)), contents)
    assert names(store) == []
    assert not (models_dir / "manifests").exists()


def damage(models_dir: Path, name: str, data: bytes) -> Path:
    path = models_dir / "manifests/registry.ollama.ai/library" / name / "latest"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def config_of(digest: Digest, size: int = 2) -> bytes:
    return encode_manifest(Manifest(Layer(manifests.CONFIG_MEDIA_TYPE, digest, size), ()))


def test_damaged_models_are_skipped_with_one_warning_each(
    store: Store, models_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    commit(store, "good")
    damage(models_dir, "cut", b'{"schemaVersion":2')
    damage(models_dir, "null", b'{"schemaVersion":2,"mediaType":"","config":null,"layers":null}')
    damage(models_dir, "huge", b" " * (MAX_MANIFEST_BYTES + 1))
    damage(models_dir, "bare", config_of(Digest.of(b"absent")))
    damage(models_dir, "list", config_of(upload(store, b"[]")))
    (models_dir / "manifests/registry.ollama.ai/library/dir/latest").mkdir(parents=True)
    (models_dir / "manifests/stray").write_bytes(b"")
    damage(models_dir, ".hidden", b"{}")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert names(store) == ["good:latest"]
    assert len(caplog.records) == 5
    assert str(models_dir) not in caplog.text


@pytest.mark.parametrize("data", [b"{", b"null", b" " * (MAX_MANIFEST_BYTES + 1)])
def test_a_damaged_model_says_so_and_can_be_removed(
    store: Store, models_dir: Path, data: bytes
) -> None:
    path = damage(models_dir, "bad", data)
    with pytest.raises(StoreFailed, match="model 'bad:latest' cannot be read: manifest"):
        store.get(parse("bad"))
    with pytest.raises(StoreFailed):
        store.copy(parse("bad"), parse("copy"))
    store.delete(parse("BAD"))
    assert not path.exists()


def test_an_incomplete_model_names_the_blob(store: Store, models_dir: Path) -> None:
    damage(models_dir, "bare", config_of(Digest.of(b"absent")))
    with pytest.raises(StoreFailed) as caught:
        store.get(parse("bare"))
    assert str(Digest.of(b"absent")) in str(caught.value)
    assert str(models_dir) not in str(caught.value)


def test_a_damaged_manifest_still_speaks_for_its_blobs(store: Store, models_dir: Path) -> None:
    commit(store, "a", {"x": b"weights"})
    weights = Digest.of(b"weights")
    damage(models_dir, "cut", f'{{"layers":[{{"digest":"sha256:{weights.hex.upper()}"'.encode())
    store.delete(parse("a"))
    assert store.blobs.has(weights)
    store.delete(parse("cut"))
    assert store.blobs.has(weights)


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        (manifests.PARAMS, "[]"),
        (manifests.PARAMS, '{"a":'),
        (manifests.MESSAGES, "{}"),
        (manifests.MESSAGES, '[{"role":1}]'),
    ],
)
def test_damaged_texts(store: Store, models_dir: Path, media_type: str, text: str) -> None:
    commit(store, "good", texts={manifests.SYSTEM: "calm"})
    with pytest.raises(InvalidRequest, match="are damaged"):
        commit(store, "good", texts={media_type: text})
    assert store.get(parse("good")).system == "calm"
    config = Layer(manifests.CONFIG_MEDIA_TYPE, upload(store, b"{}"), 2)
    layer = Layer(media_type, upload(store, text.encode()), len(text))
    damage(models_dir, "bad", encode_manifest(Manifest(config, (layer,))))
    with pytest.raises(StoreFailed, match="are damaged"):
        store.get(parse("bad"))
    assert names(store) == ["good:latest"]


def test_a_manifest_that_could_not_be_read_again_is_not_written(store: Store) -> None:
    kept = commit(store, "a")
    layer = Layer(manifests.FILE, upload(store, b"x"), 1, "x")
    config = store.manifest(parse("a")).manifest.config
    with pytest.raises(InvalidRequest, match="more than 4096 layers"):
        store.commit(parse("a"), Manifest(config, (layer,) * 5000), {})
    assert store.get(parse("a")) == kept


def test_a_name_longer_than_the_file_system_takes(store: Store, models_dir: Path) -> None:
    name = parse("h" * 300 + "/n/m")
    with pytest.raises(ModelNotFound):
        store.get(name)
    with pytest.raises(StoreFailed) as caught:
        commit(store, name.full)
    assert "File name too long" in str(caught.value)
    assert str(models_dir) not in str(caught.value)


def test_a_fresh_blob_is_spared_and_an_old_one_pruned(store: Store, clock: Clock) -> None:
    kept = commit(store, "a", {"x": b"weights"})
    digest = upload(store, b"unused")
    clock.advance(minutes=59)
    store.open()
    assert store.blobs.has(digest)
    clock.advance(minutes=2)
    assert store.prune().files == 1
    assert not store.blobs.has(digest)
    assert store.get(kept.name).files["x"].read_bytes() == b"weights"


def test_deleting_spares_a_blob_that_was_offered_to_somebody(store: Store, clock: Clock) -> None:
    commit(store, "a", {"x": b"weights"})
    weights = Digest.of(b"weights")
    assert not store.blobs.add(weights, [])
    assert store.delete(parse("a")).files == 1
    assert store.blobs.has(weights)
    commit(store, "b", {"x": b"weights"})
    store.delete(parse("b"))
    assert not store.blobs.has(weights)


def test_an_offered_blob_is_fresh_again(store: Store, models_dir: Path, clock: Clock) -> None:
    digest = upload(store, b"unused")
    old = (clock.now - timedelta(hours=5)).timestamp()
    os.utime(models_dir / "blobs" / digest.filename, (old, old))
    assert store.blobs.offer(digest)
    store.open()
    assert store.blobs.has(digest)


def test_leftovers_of_dead_writers_are_pruned(store: Store, models_dir: Path, clock: Clock) -> None:
    commit(store, "a")
    digest = Digest.of(b"x")
    tag = models_dir / "manifests/registry.ollama.ai/library/a"
    leftovers = [
        models_dir / f"blobs/.{digest.filename}.0011.tmp",
        models_dir / f"blobs/{digest.filename}-partial",
        models_dir / f"blobs/{digest.filename}-partial-3",
        tag / ".latest.0011.tmp",
        models_dir / ".packages.json.0011.tmp",
    ]
    for path in leftovers:
        path.write_bytes(b"half")
    assert names(store) == ["a:latest"]
    store.open()
    assert all(path.exists() for path in leftovers)
    clock.advance(hours=2)
    store.open()
    assert not any(path.exists() for path in leftovers)
    assert names(store) == ["a:latest"]


def test_a_folder_that_cannot_be_written_is_served_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = Store(tmp_path / "file" / "models")
    with caplog.at_level(logging.WARNING):
        store.open()
    assert "served as it is: could not lock the model store: Not a directory" in caplog.text
    assert str(tmp_path) not in caplog.text
    assert store.list() == []
    with pytest.raises(StoreFailed):
        commit(store, "a")
