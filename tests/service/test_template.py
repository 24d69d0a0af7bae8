import pytest

from ollama_tts.errors import InvalidRequest
from ollama_tts.service.template import DEFAULT_TEMPLATE, Template


@pytest.mark.parametrize(
    ("text", "system", "around"),
    [
        (DEFAULT_TEMPLATE, "", ("", "")),
        ("[oral_2]{{ .Prompt }}[uv_break]", "", ("[oral_2]", "[uv_break]")),
        ("{{ .System }}: {{.Prompt}}", "Calm", ("Calm: ", "")),
        ("{{ if .System }}[{{ .System }}] {{ end }}{{ .Prompt }}", "Calm", ("[Calm] ", "")),
        ("{{ if .System }}[{{ .System }}] {{ end }}{{ .Prompt }}", "", ("", "")),
        ("{{ if .System }}a{{ else }}b{{ end }}{{ .Prompt }}c", "", ("b", "c")),
        ("{{ if .Prompt }}a{{ else }}b{{ end }}{{ .Prompt }}", "", ("a", "")),
        ("a {{- .Prompt -}} b", "", ("a", "b")),
        ("{{ .Prompt }}{{ .Response }}!", "", ("", "!")),
        ("{{/* why */}}x{{ .Prompt }}", "", ("x", "")),
        ("{{ if .System }}{{ if .Prompt }}a{{ end }}b{{ end }}{{ .Prompt }}", "", ("", "")),
        ("only text", "", ("only text", "")),
        ("", "", ("", "")),
    ],
)
def test_what_stands_around_the_prompt(text: str, system: str, around: tuple[str, str]) -> None:
    assert Template.parse(text).around(system) == around


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Prompt",
        "{{ .Nobody }}",
        "{{ range .Messages }}{{ end }}",
        "{{ if .System }}a",
        "a{{ end }}",
        "a{{ else }}b",
        "{{ if .System }}a{{ else }}b{{ else }}c{{ end }}",
    ],
)
def test_what_a_voice_cannot_follow_is_refused_in_ollamas_words(text: str) -> None:
    with pytest.raises(InvalidRequest, match="template error"):
        Template.parse(text)


@pytest.mark.parametrize(
    "text",
    ["{{" * 500_000, "{{" + " " * 1_000_000, "{{ " + " a" * 500_000 + "}}", "{{- - }}" * 100_000],
)
def test_a_huge_template_is_refused_in_one_pass(text: str) -> None:
    with pytest.raises(InvalidRequest, match="template error") as caught:
        Template.parse(text)
    assert len(str(caught.value)) < 200


def test_the_size_of_a_text_is_known_before_it_is_made() -> None:
    template = Template.parse("ab{{ .System }}{{ .System }}{{ .Prompt }}c")
    before, after = template.around("x" * 10)
    assert len(before) + len(after) == template.most_chars("x" * 10) == 23
    assert Template.parse("{{ .System }}" * 4000).most_chars("y" * 10**6) == 4 * 10**9
