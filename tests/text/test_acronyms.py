import pytest

from ollama_tts.text.acronyms import spell_acronyms
from ollama_tts.text.mapped import MappedText


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a USB port", "a U S B port"),
        ("NASA and JSON", "NASA and JSON"),
        ("two PCs", "two P Cs"),
        ("HTML and UCLA", "H T M L and U C L A"),
        ("接USB线", "接U S B线"),
        ("I AM SO HAPPY NOW", "I AM SO HAPPY NOW"),
        ("Usb iPhone McDonald", "Usb iPhone McDonald"),
        ("HELLO there", "HELLO there"),
    ],
)
def test_letters_or_word(text: str, spelled: str) -> None:
    assert spell_acronyms(MappedText.of(text)).text == spelled


def test_letters_stay_mapped() -> None:
    mapped = spell_acronyms(MappedText.of("USB"))
    assert [mapped.starts[i] for i in (0, 2, 4)] == [0, 1, 2]
