"""`quantize` while creating: real weights in that precision, in one step or not at all."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from ollama_tts.errors import InvalidRequest, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.protocol.ollama import CreateRequest
from ollama_tts.service.events import Progress
from tests.support.services import Services, mini_files, services
from tests.support.stores import blob_names

MINI = mini_files()


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
async def node(models_dir: Path) -> Services:
    made = services(models_dir)
    await made.create(model="mini", files=made.upload(MINI), license="mine")
    return made


async def steps(node: Services, **fields: object) -> list[Progress]:
    request = CreateRequest(**fields)  # type: ignore[arg-type]  # the test says what it sends
    return [step async for step in node.creates.create(request)]


async def test_statuses_and_progress(node: Services) -> None:
    told = await steps(node, model="q", from_="mini", quantize="q8_0")
    status = "quantizing F16 model to Q8_0"
    progress = [step for step in told if step.status == status]
    others = [step.status for step in told if step.status != status]
    (model,) = node.get("q").files.values()
    assert others[:2] == ["converting model", "verifying conversion"]
    assert others[2] == f"creating new layer {model.name.replace('-', ':')}"
    assert others[-2:] == ["writing manifest", "success"]
    assert {step.digest for step in progress} == {"0" * 19}
    assert progress[-1].completed == progress[-1].total == model.stat().st_size
    assert [step.completed for step in progress] == sorted(step.completed for step in progress)


async def test_the_stored_model_has_that_precision(node: Services) -> None:
    sizes = {}
    for quantize in ("fp16", "q8_0", "q5_0", "q4_0"):
        await node.create(model=quantize, from_="mini", quantize=quantize)
        sizes[quantize] = node.get(quantize).size_bytes
    assert sizes["fp16"] > 1.3 * sizes["q8_0"] > 1.5 * sizes["q5_0"] > 1.55 * sizes["q4_0"]
    shown = await node.show("q5_0")
    assert (shown.details.quantization_level, shown.parameters) == ("Q5_0", "")
    assert (await node.show("q4_0")).details.quantization_level == "Q4_0"
    assert node.get("fp16").config.quantization == "fp16"
    assert set(node.get("fp16").files) == set(MINI)  # it had that precision


async def test_what_is_inherited_stays(node: Services) -> None:
    await node.create(model="a", from_="mini", system="calm", parameters={"seed": 3})
    await node.create(model="q", from_="a", quantize="q8_0", parameters={"speed": 2})
    q = node.get("q")
    assert (q.system, q.licenses, q.config.parent_model) == ("calm", ("mine",), "a:latest")
    assert q.parameters == {"seed": 3, "speed": 2.0, "quantization": "int8"}


async def test_steps_are_not_changed_to_other_steps(node: Services) -> None:
    await node.create(model="q", from_="mini", quantize="q8_0")
    same = await steps(node, model="same", from_="q", quantize="int8")
    assert [step.status for step in same][-1] == "success"
    assert node.get("same").files == node.get("q").files
    with pytest.raises(InvalidRequest, match="only supported for F16, BF16 and F32 models"):
        await node.create(model="x", from_="q", quantize="q4_0")
    assert "x:latest" not in node.names()


async def test_a_checkpoint_that_does_not_fit_is_refused_before_a_status(node: Services) -> None:
    files = {**MINI, "config.json": MINI["config.json"].replace(b'"n_layer"', b'"n_layers"')}
    request = CreateRequest(model="x", files=node.upload(files), quantize="q8_0")
    with pytest.raises(InvalidRequest, match=r"Decoder\.safetensors lacks tensors"):
        await anext(node.creates.create(request))


async def test_leaving_at_any_step_leaves_nothing(node: Services, models_dir: Path) -> None:
    request = CreateRequest(model="x", from_="mini", quantize="q8_0")
    before = blob_names(models_dir)
    whole = [step async for step in node.creates.create(request)]
    node.store.delete(ModelName.parse("x"))
    for name in blob_names(models_dir) - before:
        node.store.blobs.remove(Digest.parse(name))
    assert blob_names(models_dir) <= before
    before = blob_names(models_dir)
    for stop in range(1, len(whole)):
        async with aclosing(node.creates.create(request)) as told:
            for _ in range(stop):
                await anext(told)
        assert "x:latest" not in node.names()
        assert blob_names(models_dir) == before


async def test_one_name_made_many_times_at_once(node: Services) -> None:
    """Each of them ends well, although every other frees what the one before it wrote."""

    async def make(precision: str) -> str:
        told = await steps(node, model="twin", from_="mini", quantize=precision)
        return told[-1].status

    async with asyncio.TaskGroup() as group:
        making = [group.create_task(make(each)) for each in ("q8_0", "q4_0") * 3]
    assert [task.result() for task in making] == ["success"] * 6
    assert node.get("twin").files


async def test_a_manifest_that_cannot_be_written_leaves_nothing(
    node: Services, models_dir: Path
) -> None:
    (models_dir / "manifests/registry.ollama.ai/library/x").write_bytes(b"in the way")
    before = blob_names(models_dir)
    with pytest.raises(StoreFailed):
        await node.create(model="x", from_="mini", quantize="q8_0")
    kept = blob_names(models_dir) - before
    assert sum((models_dir / "blobs" / name).stat().st_size for name in kept) < 10_000


async def test_out_of_its_own_file_again(node: Services) -> None:
    """A GGUF that was made here makes the same model: the same blob, licence and precision."""
    await node.create(model="q", from_="mini", quantize="q8_0")
    (path,) = node.get("q").files.values()
    files = node.upload({"q.gguf": path.read_bytes()})
    await node.create(model="again", files=files)
    assert list(node.get("again").files.values()) == [path]
    assert node.get("again").licenses == ("mine",)
    shown = await node.show("again")
    assert (shown.details.quantization_level, shown.details.format) == ("Q8_0", "chattts")
    assert shown.details.parameter_size == "11.33M"
