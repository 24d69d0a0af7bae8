from datetime import UTC, datetime

from ollama_tts.cli.show import sections
from ollama_tts.protocol.ollama import ModelDetails, ShowResponse


def response(parameter_size: str = "", **fields: object) -> ShowResponse:
    details = ModelDetails(
        parent_model="", format="f", family="fam", families=["fam"],
        parameter_size=parameter_size, quantization_level="int8",
    )  # fmt: skip
    given: dict[str, object] = {"model_info": {}, "modified_at": datetime.now(UTC), **fields}
    return ShowResponse(details=details, **given)  # type: ignore[arg-type]  # fields of any kind


def test_facts_come_from_model_info_and_else_from_details() -> None:
    info = {
        "general.architecture": "arch", "general.parameter_count": 1234,
        "arch.context_length": 400, "arch.embedding_length": 96,
    }  # fmt: skip
    assert list(sections(response(model_info=info, requires="0.14.0"), verbose=False)) == [
        "  Model",
        "    architecture        arch",
        "    parameters          1234",
        "    context length      400",
        "    embedding length    96",
        "    quantization        int8",
        "    requires            0.14.0",
        "",
    ]
    plain = list(sections(response("7.9M"), verbose=False))
    assert plain[1:3] == ["    architecture    fam", "    parameters      7.9M"]


def test_long_texts_are_cut_after_two_lines() -> None:
    text = "One.\n\n  Two.\nThree.\n"
    lines = list(sections(response(system="One.\nTwo.", license=text), verbose=False))
    assert lines[-9:] == [
        "  System", "    One.", "    Two.", "",
        "  License", "    One.", "    Two.", "    ...", "",
    ]  # fmt: skip


def test_verbose_shows_all_of_model_info_shortened() -> None:
    info: dict[str, object] = {
        "general.languages": ["en", "zh"], "voices": [f"voice{n}" for n in range(40)], "n": 3,
    }  # fmt: skip
    lines = list(sections(response(model_info=info), verbose=True))
    assert "    general.languages    en, zh" in lines
    assert "    n                    3" in lines
    (voices,) = [line for line in lines if "voice0" in line]
    assert voices.endswith("...")
    assert "  Metadata" not in list(sections(response(model_info=info), verbose=False))
