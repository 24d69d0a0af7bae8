from contextlib import aclosing
from pathlib import Path

import pytest

from ollama_tts.errors import Forbidden, InvalidOption, InvalidRequest, OllamaTTSError, StoreFailed
from ollama_tts.names import Digest, ModelName
from ollama_tts.protocol.ollama import CreateRequest, Message
from tests.support.services import Services, mini_files, services
from tests.support.stores import blob_names

ABSENT = "sha256:" + "0" * 64
MINI = mini_files()


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def node(models_dir: Path) -> Services:
    return services(models_dir)


async def test_statuses_in_order(node: Services) -> None:
    lines = await node.create(model="x", from_="tone", system="calm", parameters={"seed": 1})
    base = node.store.manifest(ModelName.parse("tone")).manifest
    new = node.store.manifest(ModelName.parse("x")).manifest
    expected = []
    for layer in new.layers:
        old = layer in base.layers
        expected.append(f"{'using existing' if old else 'creating new'} layer {layer.digest}")
    assert lines == [*expected, "writing manifest", "success"]
    assert any("creating" in line for line in lines)
    assert any("using" in line for line in lines)


async def test_everything_is_inherited_and_can_be_overridden(node: Services) -> None:
    await node.create(
        model="a",
        from_="tone",
        system="one",
        template="<{{ .Prompt }}>",
        license="L1",
        parameters={"seed": 1, "speed": 1.5, "stop": ["x", "y"]},
        messages=[Message(role="user", content="hi")],
        requires="1.0.0",
    )
    await node.create(
        model="b",
        from_="A",
        system="two",
        license=["L2", "L1"],
        parameters={"speed": 2, "stop": ["z"]},
    )
    a, b, tone = node.get("a"), node.get("b"), node.get("tone")
    assert b.system == "two"
    assert (b.template, b.messages) == (a.template, a.messages)
    assert b.licenses == (*tone.licenses, "L1", "L2")
    assert b.parameters == {"seed": 1, "speed": 2.0, "stop": ["z"]}
    assert list(b.parameters) == ["seed", "speed", "stop"]
    assert (b.config.parent_model, b.config.requires) == ("a:latest", "1.0.0")
    assert b.weights_key == a.weights_key == tone.weights_key
    await node.create(model="c", from_="b", messages=[Message(role="system", content="new")])
    assert [m.content for m in node.get("c").messages] == ["new"]


async def test_info_changes_the_config(node: Services) -> None:
    info = {
        "model_family": "f", "base_name": "n", "quantization_level": "Q9", "parameter_size": "9M",
        "context_length": 9, "embedding_length": 8, "capabilities": ["audio", "speech"],
    }  # fmt: skip
    await node.create(model="x", from_="tone", info=info)
    config = node.get("x").config
    assert (config.model_family, config.quantization, config.parameter_size) == ("f", "Q9", "9M")
    assert (config.context_length, config.embedding_length) == (9, 8)
    assert config.capabilities == ("completion", "speech", "audio")
    assert config.info["general.basename"] == "n"


async def test_onto_itself_and_in_another_case(node: Services) -> None:
    await node.create(model="Voice", from_="tone", parameters={"seed": 1})
    await node.create(model="voice", from_="VOICE", parameters={"speed": 2})
    assert {"Voice:latest", "voice:latest"} & node.names() == {"Voice:latest"}
    assert node.get("voice").parameters == {"seed": 1, "speed": 2.0}


async def test_a_base_that_was_removed_is_pulled(node: Services) -> None:
    node.store.delete(ModelName.parse("tone"))
    lines = await node.create(model="x", from_="tone")
    assert lines[0] == "pulling manifest"
    assert lines.count("success") == 1
    assert lines[-1] == "success"
    assert {"x:latest", "tone:latest"} <= node.names()


async def test_a_base_that_nobody_has(node: Services) -> None:
    request = CreateRequest(model="x", from_="nope")
    async with aclosing(node.creates.create(request)) as lines:
        assert (await anext(lines)).status == "pulling manifest"
        with pytest.raises(Forbidden, match=r"^pull model manifest: .* OLLAMA_TTS_REGISTRIES"):
            await anext(lines)
    assert "x:latest" not in node.names()


async def test_a_checkpoint(node: Services) -> None:
    await node.create(model="mini", files=node.upload(MINI))
    model = node.get("mini")
    assert {name: path.read_bytes() for name, path in model.files.items()} == MINI
    assert model.config.model_format == "chattts"
    assert model.licenses == ()
    await node.create(model="copy", from_="mini", parameters={"voice": "anna"})
    assert node.get("copy").weights_key == model.weights_key
    node.store.delete(ModelName.parse("mini"))
    assert all(path.is_file() for path in node.get("copy").files.values())


async def test_a_checkpoint_packed_one_folder_off(node: Services) -> None:
    files = {f"ChatTTS/{name}": data for name, data in MINI.items()}
    await node.create(model="mini", files=node.upload(files))
    assert set(node.get("mini").files) == set(MINI)


async def test_a_checkpoint_of_official_sizes_states_its_licence(node: Services) -> None:
    files = {name: data for name, data in MINI.items() if name != "config.json"}
    await node.create(model="official", files=node.upload(files), license="mine")
    first, second = node.get("official").licenses
    assert "CC BY-NC 4.0" in first.replace("Creative Commons BY-NC", "CC BY-NC")
    assert "AGPL-3.0" in first
    assert second == "mine"


async def test_files_over_a_base_replace_those_of_their_name(node: Services) -> None:
    await node.create(model="mini", files=node.upload(MINI))
    speakers = b'{"carl": "x"}'
    await node.create(model="b", from_="mini", files=node.upload({"speakers.json": speakers}))
    assert node.get("b").files["speakers.json"].read_bytes() == speakers
    assert set(node.get("b").files) == set(MINI)
    assert node.get("b").weights_key != node.get("mini").weights_key


async def test_a_package_voice_takes_no_files(node: Services) -> None:
    with pytest.raises(InvalidRequest, match="unknown type: 'tone:latest' comes with a package"):
        await node.create(model="x", from_="tone", files=node.upload({"a.json": b"{}"}))


@pytest.mark.parametrize(
    ("fields", "parameter", "shown_as"),
    [
        ({"quantize": "int8"}, "int8", "Q8_0"),
        ({"quantization": "Q4_0"}, "int4", "Q4_0"),
        ({"parameters": {"quantization": "bf16"}}, "bf16", "bf16"),
        ({"parameters": {"fp16": True}}, "fp16", "fp16"),
        ({"model": "mini:q8_0"}, "int8", "int8"),
        ({"model": "mini:q8_0", "quantize": "fp32"}, "fp32", "F32"),
        ({"quantize": "Q8_0", "parameters": {"quantization": "bf16"}}, "int8", "Q8_0"),
    ],
)
async def test_quantization_is_recorded_and_shown(
    node: Services, fields: dict[str, object], parameter: str, shown_as: str
) -> None:
    fields = {"model": "mini", "files": node.upload(MINI), **fields}
    await node.create(**fields)
    shown = await node.show(str(fields["model"]))
    assert shown.details.quantization_level == shown_as
    assert shown.parameters == f'quantization                   "{parameter}"'


async def test_a_package_voice_stays_what_it_is(node: Services) -> None:
    await node.create(model="x:int8", from_="hibari", quantize="fp16")
    hibari = await node.show("hibari")
    assert (await node.show("x:int8")).details.quantization_level == (
        hibari.details.quantization_level
    )


async def test_adapters(node: Services) -> None:
    first = node.upload({"anna.txt": b"one", "ben.txt": b"two"})
    await node.create(model="a", from_="tone", adapters=first)
    second = node.upload({"anna.txt": b"new"})
    await node.create(model="b", from_="a", adapters=second)
    adapters = {name: path.read_bytes() for name, path in node.get("b").adapters.items()}
    assert adapters == {"anna.txt": b"new", "ben.txt": b"two"}
    models = [node.get(name) for name in ("tone", "a", "b")]
    assert len({model.weights_key for model in models}) == 1
    assert len({model.adapters_key for model in models}) == 3


REFUSED: list[tuple[dict[str, object], type[OllamaTTSError], str]] = [
    ({"from_": "tone", "files": {"x.safetensors": ABSENT}}, InvalidRequest, f'blob "{ABSENT}" not'),
    ({"from_": "tone", "adapters": {"x": ABSENT}}, InvalidRequest, f'x: blob "{ABSENT}" not found'),
    ({"from_": "tone", "template": "{{ if }}"}, InvalidRequest, "template error"),
    ({"from_": "tone", "parameters": {"tempratur": 1}}, InvalidOption, "'temperature'?"),
    ({"from_": "tone", "modelfile": "FROM tone\nBAD x"}, InvalidRequest, "(line 2): "),
    ({}, InvalidRequest, "neither 'from' or 'files' was specified"),
]


@pytest.mark.parametrize(("fields", "kind", "words"), REFUSED)
async def test_a_refusal_comes_before_the_first_status_and_leaves_nothing(
    node: Services,
    models_dir: Path,
    fields: dict[str, object],
    kind: type[OllamaTTSError],
    words: str,
) -> None:
    before = node.names(), blob_names(models_dir)
    request = CreateRequest(**{"model": "x", **fields})  # type: ignore[arg-type]
    with pytest.raises(kind) as caught:
        await anext(node.creates.create(request))
    assert words in str(caught.value)
    assert str(models_dir) not in str(caught.value)
    assert (node.names(), blob_names(models_dir)) == before


WEIGHTS = {
    "noext": b"hello",
    "0.safetensors": b"\x01\x00\x00\x00",
    "1.safetensors": (2**63 - 1).to_bytes(8, "little"),
    "model.gguf": b"hello",
    "model.pt": b"\x80\x02.",
    "config.json": b"[" * 10_000_000,
}


@pytest.mark.parametrize("name", WEIGHTS)
async def test_hostile_weights(node: Services, name: str) -> None:
    request = CreateRequest(model="x", files=node.upload({name: WEIGHTS[name]}))
    with pytest.raises(InvalidRequest) as caught:
        await anext(node.creates.create(request))
    assert name in str(caught.value)
    assert "x:latest" not in node.names()


async def test_leaving_at_any_line_leaves_nothing_visible(node: Services, models_dir: Path) -> None:
    request = CreateRequest(model="x", from_="tone", system="calm", license="mine")
    before = blob_names(models_dir)
    whole = [line.status async for line in node.creates.create(request)]
    node.store.delete(ModelName.parse("x"))
    for stop in range(1, whole.index("success")):
        async with aclosing(node.creates.create(request)) as lines:
            for _ in range(stop):
                await anext(lines)
        assert "x:latest" not in node.names()
        assert blob_names(models_dir) == before


async def test_a_blob_that_goes_while_the_model_is_made(node: Services) -> None:
    request = CreateRequest(model="x", files=node.upload(MINI))
    async with aclosing(node.creates.create(request)) as lines:
        while (await anext(lines)).status != "writing manifest":
            pass
        node.store.blobs.remove(Digest.of(MINI["asset/Vocos.safetensors"]))
        with pytest.raises(OllamaTTSError, match=r"blob .* not found"):
            await anext(lines)
    assert "x:latest" not in node.names()


async def test_a_store_that_cannot_be_written(node: Services, models_dir: Path) -> None:
    (models_dir / ".lock").unlink(missing_ok=True)
    (models_dir / ".lock").mkdir()
    with pytest.raises(StoreFailed) as caught:
        await node.create(model="x", from_="tone", system="calm")
    assert str(models_dir) not in str(caught.value)
    assert "x:latest" not in node.names()


async def test_licences_without_end_are_refused(node: Services) -> None:
    request = CreateRequest(model="x", from_="tone", license=[str(i) for i in range(5000)])
    with pytest.raises(InvalidRequest, match="4096 layers"):
        await anext(node.creates.create(request))
