from pathlib import Path

import pytest

from ollama_tts import modelfile
from ollama_tts.errors import InvalidModelfile
from ollama_tts.modelfile import CreateParts


def convert(text: str, base: Path | None = None) -> CreateParts:
    return modelfile.to_create_request(modelfile.parse(text), base)


def refusal(text: str, base: Path | None = None) -> InvalidModelfile:
    with pytest.raises(InvalidModelfile) as caught:
        convert(text, base)
    return caught.value


def test_our_parameters_are_typed_by_the_table() -> None:
    parts = convert(
        "FROM chattts\nPARAMETER quantization q8_0\nSET custom_metrics true\nSET voice v 1\n"
        "PARAMETER speed 1\nPARAMETER oral 3.0\nPARAMETER break 5\nPARAMETER fp16 true\n"
    )
    assert parts.parameters == {
        "quantization": "int8", "custom_metrics": True, "voice": "v 1", "speed": 1.0, "oral": 3,
        "break": 5, "fp16": True,
    }  # fmt: skip
    assert isinstance(parts.parameters["speed"], float)
    assert isinstance(parts.parameters["oral"], int)


@pytest.mark.parametrize(
    ("line", "message", "explained"),
    [
        ("PARAMETER tempratur 0.3", "unknown parameter 'tempratur'", "mean 'temperature'?"),
        ("PARAMETER TEMPERATURE 1", "unknown parameter 'TEMPERATURE'", "mean 'temperature'?"),
        ("PARAMETER  seed 1", "unknown parameter ''", "one blank stands between"),
        ("PARAMETER tfs_z 1", "unknown parameter 'tfs_z'", ""),
        ("PARAMETER temperature warm", "invalid float value [warm]", "a number from 0 to"),
        ("PARAMETER temperature inf", "invalid float value [inf]", "a number"),
        ("PARAMETER temperature 1_0.5", "invalid float value [1_0.5]", "a number"),
        ("PARAMETER seed 0x10", "invalid int value [0x10]", "an integer"),
        ("PARAMETER seed 1_000", "invalid int value [1_000]", "an integer"),
        ("PARAMETER seed １２", "invalid int value [１２]", "an integer"),
        ("PARAMETER num_gpu 20.5", "invalid int value [20.5]", "an integer from -1"),
        ("PARAMETER num_keep x", "invalid int value [x]", "an integer"),
        ("PARAMETER min_p x", "invalid float value [x]", "a number"),
        ("PARAMETER min_p 1e999", "option 'min_p' must be a number, not inf", ""),
        ("PARAMETER top_p 1e999", "option 'top_p' must be", "above 0 to 1"),
        (f"PARAMETER num_keep {'9' * 5000}", "invalid int value [999", "an integer"),
        (f"PARAMETER top_k {'9' * 5000}", "invalid int value [999", "an integer"),
        ("PARAMETER use_mmap maybe", "invalid bool value [maybe]", "true or false"),
        ("PARAMETER fp16 maybe", "invalid bool value [maybe]", "true or false"),
        ("PARAMETER normalize perhaps", "invalid bool value [perhaps]", "true or false"),
        ("PARAMETER speed 9", "option 'speed' must be a number from 0.5 to 2, not 9.0", "0.5"),
        ("PARAMETER language klingon", "option 'language' must be one of", "auto, zh, en"),
        ("REQUIRES soon", "requires must be a valid semver (e.g. 0.14.0)", ""),
        ("DRAFT ./x", "DRAFT is not supported", ""),
    ],
)
def test_a_refusal_names_line_value_and_what_is_allowed(
    line: str, message: str, explained: str
) -> None:
    error = refusal(f"FROM a\n\n{line}\n")
    assert str(error).startswith(message)
    assert error.explained.startswith(f"(line 3): {message}")
    assert explained in error.explained


@pytest.mark.parametrize("number", ["1", "+1", "-1", "1.0", "1."])
def test_integers(number: str) -> None:
    assert convert(f"FROM a\nPARAMETER seed {number}\n").parameters == {"seed": int(float(number))}


@pytest.mark.parametrize("number", ["1", ".5", "5.", "1e-3", "2.5E+2"])
def test_floats(number: str) -> None:
    assert convert(f"FROM a\nPARAMETER min_p {number}\n").parameters == {"min_p": float(number)}


def test_a_deprecated_name_is_dropped_with_a_warning() -> None:
    parts = convert("FROM a\nPARAMETER mirostat 1\n")
    assert (parts.parameters, parts.warnings) == (
        {},
        ["warning: parameter mirostat is deprecated"],
    )


def write(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "ChatTTS"
    for name in ("config.json", "asset/Embed.safetensors", "asset/gpt/model.safetensors"):
        write(folder / name)
    for name in ("README.md", "asset/spk_stat.pt", ".git/x.json", "asset/.hidden.json", "a.bin"):
        write(folder / name)
    return folder


def test_from_a_folder(tmp_path: Path, checkpoint: Path) -> None:
    expected = {
        name: checkpoint / name
        for name in ("asset/Embed.safetensors", "asset/gpt/model.safetensors", "config.json")
    }
    for text in ("./ChatTTS", "ChatTTS", "ChatTTS/", str(checkpoint), "x/../ChatTTS"):
        parts = convert(f"FROM {text}\n", tmp_path)
        assert (dict(sorted(parts.files.items())), parts.from_) == (expected, "")
    assert convert("FROM .\n", checkpoint).files == expected


def test_from_the_home_folder(
    tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "config.json" in convert("FROM ~/ChatTTS\n", Path("/")).files


def test_from_a_file_and_from_several(tmp_path: Path) -> None:
    write(tmp_path / "a.gguf")
    write(tmp_path / "sub/voice.json")
    parts = convert("FROM ./a.gguf\nFROM sub/voice.json\nFROM base\n", tmp_path)
    assert parts.files == {
        "a.gguf": tmp_path / "a.gguf",
        "voice.json": tmp_path / "sub/voice.json",
    }
    assert parts.from_ == "base"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a/x.gguf")
    write(tmp_path / "b/x.gguf")
    error = refusal("FROM ./a/x.gguf\nFROM ./b/x.gguf\n", tmp_path)
    assert (str(error), error.line) == ("two files are called 'x.gguf'", 2)


def test_a_path_that_is_not_there_is_a_name(tmp_path: Path) -> None:
    parts = convert("FROM ./nope.gguf\n", tmp_path)
    assert (parts.from_, parts.files) == ("./nope.gguf", {})


def test_a_folder_called_like_the_model_that_holds_none_is_the_model(tmp_path: Path) -> None:
    write(tmp_path / "hibari/take1.wav")
    assert convert("FROM hibari\n", tmp_path).from_ == "hibari"
    error = refusal("FROM ./hibari\n", tmp_path)
    assert str(error) == "no Modelfile or safetensors files found"
    assert "pickles" in error.explained


def test_a_folder_of_pickles_holds_no_model(tmp_path: Path) -> None:
    write(tmp_path / "m/model.pt")
    write(tmp_path / "m/config.json")
    assert "pickles" in refusal("FROM ./m\n", tmp_path).detail


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, checkpoint: Path) -> None:
    secret = write(tmp_path / "secret.json")
    (checkpoint / "asset/link.json").symlink_to(secret)
    error = refusal("FROM ./ChatTTS\n", tmp_path)
    assert str(error) == "insecure path: asset/link.json"


def test_a_link_inside_the_folder_is_followed(tmp_path: Path, checkpoint: Path) -> None:
    (checkpoint / "other.json").symlink_to(checkpoint / "config.json")
    assert "other.json" in convert("FROM ./ChatTTS\n", tmp_path).files


def test_adapters(tmp_path: Path) -> None:
    write(tmp_path / "anna.txt")
    parts = convert("FROM chattts\nADAPTER ./anna.txt\n", tmp_path)
    assert parts.adapters == {"anna.txt": tmp_path / "anna.txt"}
    error = refusal("FROM chattts\nADAPTER ./ben.txt\n", tmp_path)
    assert (str(error), error.line) == ("stat ./ben.txt: no such file or directory", 2)


def test_without_a_folder_nothing_on_this_machine_is_looked_at(tmp_path: Path) -> None:
    file = write(tmp_path / "a.gguf")
    parts = convert(f"FROM {file}\n")
    assert (parts.from_, parts.files) == (str(file), {})
    assert "adapters" in refusal(f"FROM a\nADAPTER {file}\n").detail
