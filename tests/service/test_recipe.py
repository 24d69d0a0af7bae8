import pytest

from ollama_tts.errors import (
    InvalidModelfile,
    InvalidRequest,
    OllamaTTSError,
    TooLarge,
    Unsupported,
)
from ollama_tts.names import Digest
from ollama_tts.protocol.ollama import CreateRequest, Message
from ollama_tts.service.recipe import Info, Recipe, read_recipe
from ollama_tts.store.model import Message as StoredMessage

D = "sha256:" + "0" * 64


def read(**fields: object) -> Recipe:
    return read_recipe(CreateRequest(**{"model": "x", "from_": "base", **fields}))  # type: ignore[arg-type]


def test_all_fields() -> None:
    recipe = read(
        from_="Base:local",
        adapters={"a.txt": D.upper().replace("SHA256", "sha256")},
        parameters={"seed": 3},
        quantize="q8_0",
        template="<{{ .Prompt }}>",
        system="calm",
        license=["MIT", "", "BSD"],
        messages=[Message(role="user", content="hi")],
        requires="v1.2.3",
        info={"model_family": "f", "context_length": 5.0, "capabilities": ["audio"], "other": []},
    )
    assert recipe.base is not None
    assert recipe.base.short == "Base:latest"
    assert recipe.adapters == {"a.txt": Digest("0" * 64)}
    assert recipe.parameters == {"seed": 3, "quantization": "int8"}
    assert recipe.licenses == ("MIT", "BSD")
    assert recipe.messages == (StoredMessage("user", "hi"),)
    assert recipe.requires == "1.2.3"
    assert recipe.info == Info(model_family="f", context_length=5, capabilities=("audio",))


def test_both_spellings_of_quantize_win_over_parameters() -> None:
    parameters = {"quantization": "fp32"}
    assert read(quantize="int8", parameters=parameters).parameters == {"quantization": "int8"}
    assert read(quantization="int4", parameters=parameters).parameters == {"quantization": "int4"}


REFUSED: list[tuple[dict[str, object], type[OllamaTTSError], str]] = [
    ({"model": "", "name": ""}, InvalidRequest, "invalid model name"),
    ({"model": "a b"}, InvalidRequest, "invalid model name"),
    ({"from_": "../y"}, InvalidRequest, "invalid model name"),
    ({"from_": "a:cloud:local"}, InvalidRequest, "invalid model name"),
    ({"from_": ""}, InvalidRequest, "neither 'from' or 'files' was specified"),
    ({"from_": "", "files": {}}, InvalidRequest, "unknown type"),
    ({"files": {"/etc/passwd": D}}, InvalidRequest, "file path must be relative"),
    ({"files": {"../a.gguf": D}}, InvalidRequest, "file path must be relative"),
    ({"files": {"a/../../x": D}}, InvalidRequest, "file path must be relative"),
    ({"adapters": {"../a": D}}, InvalidRequest, "file path must be relative"),
    ({"files": {"a": ""}}, InvalidRequest, "invalid digest format"),
    ({"files": {"a": "sha256:../../x"}}, InvalidRequest, "invalid digest format"),
    ({"adapters": {"a": ""}}, InvalidRequest, "invalid digest format"),
    ({"files": {f"{i}.json": D for i in range(3000)}}, TooLarge, "may have 2048 files, not 3000"),
    ({"template": "{{ .Prompt"}, InvalidRequest, "template error: "),
    ({"template": "{{ range .Messages }}"}, InvalidRequest, "template error: "),
    ({"template": "x" * 70_000}, TooLarge, "a template may have 65536 characters, not 70000"),
    ({"quantize": "int3"}, InvalidRequest, "unsupported quantization type INT3 - supported types"),
    ({"parameters": {"tempratur": 1}}, InvalidRequest, "unknown parameter 'tempratur'; did you"),
    ({"parameters": {"speed": "x"}}, InvalidRequest, "option 'speed' must be a number"),
    ({"draft_quantize": "q8_0"}, InvalidRequest, "--draft-quantize requires a DRAFT model"),
    ({"draft_files": {"a": D}}, Unsupported, "DRAFT is not supported"),
    ({"remote_host": "http://x"}, Unsupported, "remote models are not supported"),
    ({"messages": [Message(role="tool", content="")]}, InvalidRequest, "message role must be"),
    ({"info": {"model_family": 1}}, InvalidRequest, 'info field "model_family" must be a string'),
    ({"info": {"context_length": "1"}}, InvalidRequest, 'field "context_length" must be a number'),
    ({"info": {"context_length": True}}, InvalidRequest, '"context_length" must be a number'),
    ({"info": {"context_length": 1.5}}, InvalidRequest, "must be a non-negative integer"),
    ({"info": {"embedding_length": -1}}, InvalidRequest, "must be a non-negative integer"),
    ({"info": {"embedding_length": 1e300}}, InvalidRequest, "must be a non-negative integer"),
    ({"info": {"capabilities": ["a b"]}}, InvalidRequest, "must be a list of words"),
    ({"info": {"capabilities": [1]}}, InvalidRequest, "must be a list of words"),
]


@pytest.mark.parametrize(("fields", "kind", "words"), REFUSED)
def test_refused(fields: dict[str, object], kind: type[OllamaTTSError], words: str) -> None:
    with pytest.raises(kind) as caught:
        read(**fields)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_text_of_a_modelfile() -> None:
    recipe = read(
        from_="",
        parameters={"seed": 2},
        system="given",
        modelfile='FROM base\nPARAMETER seed 1\nSET speed 1.5\nSYSTEM """a\nb"""\nTEMPLATE t\n'
        "LICENSE MIT\nMESSAGE user hi\nREQUIRES 1.0.0\n",
    )
    assert recipe.base is not None
    assert recipe.base.short == "base:latest"
    assert recipe.parameters == {"seed": 2, "speed": 1.5}
    assert (recipe.system, recipe.template, recipe.licenses) == ("given", "t", ("MIT",))
    assert (recipe.messages, recipe.requires) == ((StoredMessage("user", "hi"),), "1.0.0")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("FROM chattts\nPARAMETER temperature\n", 2, 'read "temperature"'),
        ("FROM chattts\nTEMPERATURE 0.3\n", 2, 'read "TEMPERATURE"'),
        ("PARAMETER seed 5\n", None, "no FROM line"),
        ("FROM chattts\nPARAMETER tempratur 0.3\n", 2, "did you mean 'temperature'"),
        ("FROM chattts\nPARAMETER temperature warm\n", 2, "[warm]; option 'temperature' must be"),
        ("FROM chattts\r\nADAPTER /etc/passwd\r\n", 2, "upload it"),
    ],
)
def test_a_modelfile_that_is_refused(text: str, line: int | None, words: str) -> None:
    with pytest.raises(InvalidModelfile) as caught:
        read(from_="", modelfile=text)
    assert words in str(caught.value)
    assert line is None or str(caught.value).startswith(f"(line {line}): ")


def test_a_path_in_a_modelfile_is_not_looked_at() -> None:
    with pytest.raises(InvalidRequest, match=r"^invalid model name$"):
        read(from_="", modelfile="FROM /etc/passwd\n")
