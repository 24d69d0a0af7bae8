from hypothesis import example, given, settings, strategies as st

from ollama_tts import modelfile
from ollama_tts.errors import InvalidModelfile
from ollama_tts.modelfile import Command
from ollama_tts.modelfile.printer import quote
from tests.support.modelfiles import lines, soup, spaced

values = st.text(alphabet=st.sampled_from([*'ab\'"""\t  \n\r{}#:\\中😀']), max_size=30) | st.text(
    max_size=30
)


@settings(max_examples=800)
@given(soup | spaced | lines)
def test_whatever_parses_prints_and_parses_the_same(text: str) -> None:
    try:
        commands = modelfile.parse(text)
    except InvalidModelfile:
        return
    printed = modelfile.format(commands)
    assert modelfile.parse(printed) == commands
    assert modelfile.format(modelfile.parse(printed)) == printed


def expressible(value: str) -> bool:
    """Whether the grammar can hold it: only printable runes, no closing quotes in mid-text."""
    printable = all(rune in "\t\r\n" or rune.isprintable() for rune in value)
    inner = value.replace("\r", "\n").split("\n")[:-1]
    return printable and not any(line.rstrip(" \t").endswith('"""') for line in inner)


@settings(max_examples=800)
@given(values)
@example("")
@example('"')
@example('""')
@example('"""')
@example('""\n')
@example('"\n"')
@example(' x"\ny ')
@example('a"\nb')
@example("\n")
def test_a_value_that_the_grammar_can_hold_survives(value: str) -> None:
    if not expressible(value):
        return
    for name in ("system", "voice", "license", "model"):
        commands = [Command("model", "m"), Command(name, value)]
        assert modelfile.parse(modelfile.format(commands)) == commands


@given(values)
@example('"\x08')
@example('\x08"\n')
def test_what_it_cannot_hold_is_bent_once_and_stays_so(value: str) -> None:
    text = modelfile.format([Command("model", "m"), Command("system", value)])
    commands = modelfile.parse(text)
    assert [c.name for c in commands] == ["model", "system"]
    assert modelfile.parse(modelfile.format(commands)) == commands


def test_names_and_quotes() -> None:
    commands = [
        Command("model", "a:latest"),
        Command("template", "{{ .Prompt }}"),
        Command("system", "two\n lines"),
        Command("temperature", "0.3"),
        Command("license", 'a "b"\nc'),
        Command("message", "user: hi: there"),
        Command("message", "no role"),
        Command("voice", ' "x" '),
    ]
    assert modelfile.format(commands) == (
        "FROM a:latest\nTEMPLATE {{ .Prompt }}\n"
        'SYSTEM "two\n lines"\nPARAMETER temperature 0.3\n'
        'LICENSE """a "b"\nc"""\nMESSAGE user hi: there\nPARAMETER message no role\n'
        'PARAMETER voice " "x" "\n'
    )
    assert modelfile.parse(modelfile.format(commands)) == commands


def test_plain_where_that_is_enough() -> None:
    assert quote("a b # c") == "a b # c"
    assert quote("") == '""'
    assert quote("'x'") == "'x'"
