"""Which model of a split a request goes to: by weight, by client, and what is refused."""

import random
from collections import Counter

import pytest

from ollama_tts.errors import InvalidOption
from ollama_tts.service.split import Arm, choose, parse_split

DRAWS = 20_000
FAR = 4.0
"""Standard deviations that a share may be off; by chance one in 16,000 is."""


def shares(text: str, ids: list[str] | None = None) -> list[float]:
    """How often each arm is chosen, as a share."""
    arms, draw = parse_split(text), random.Random(5).random
    chosen = Counter(choose(arms, name, draw) for name in ids or [""] * DRAWS)
    return [chosen[place] / chosen.total() for place in range(len(arms))]


def near(share: float, expected: float) -> bool:
    deviation: float = (expected * (1 - expected) / DRAWS) ** 0.5
    return abs(share - expected) <= FAR * deviation


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:90,b:10", (0.9, 0.1)), ("a:1, b:1 ,c:2", (0.25, 0.25, 0.5)), ("a:0.5,b:0", (1.0, 0.0))],
)
def test_shares_are_the_weights_by_chance_and_by_client(
    text: str, expected: tuple[float, ...]
) -> None:
    clients = [f"client-{number}" for number in range(DRAWS)]
    for found in (shares(text), shares(text, clients)):
        assert all(near(share, wanted) for share, wanted in zip(found, expected, strict=True))


def test_a_client_keeps_its_model_and_the_order_of_the_names_is_nothing_to_it() -> None:
    first, second = parse_split("a:50,b:50"), parse_split("B:50,a:50")
    for client in map(str, range(200)):
        place = choose(first, client, random.random)
        assert choose(first, client, random.random) == place
        assert choose(second, client, random.random) == 1 - place


def test_another_weight_moves_only_who_must_move() -> None:
    before, after = parse_split("a:90,b:10"), parse_split("a:80,b:20")
    moved = Counter(
        (choose(before, client, random.random), choose(after, client, random.random))
        for client in map(str, range(DRAWS))
    )
    assert moved[1, 0] == 0
    assert near(moved[1, 1] / DRAWS, 0.1)
    assert near(moved[0, 1] / DRAWS, 0.1)


def test_a_draw_at_the_very_end_still_finds_a_model() -> None:
    arms = parse_split("a:0.1,b:0.2,c:0")
    assert choose(arms, "", lambda: 1.0) == 1


def test_tags_and_namespaces_are_part_of_a_name() -> None:
    arms = parse_split("me/a:v2:3,b:latest:1")
    assert [(arm.name.short, arm.weight) for arm in arms] == [("me/a:v2", 3), ("b:latest", 1)]
    assert isinstance(arms[0], Arm)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' has no weight"),
        ("a", "'a' has no weight"),
        ("a:b", "the weight 'b' of 'a' is no number as 90 or 0.5"),
        ("a:-1,b:1", "the weight '-1' of 'a' is no number"),
        ("a:nan", "the weight 'nan' of 'a' is no number"),
        ("a:inf", "the weight 'inf' of 'a' is no number"),
        ("a:1_0,b:1", "the weight '1_0' of 'a' is no number"),
        ("a:1e-320", "the weight '1e-320' of 'a' is no number"),
        ("a:\u0661", "of 'a' is no number"),
        ("a:1000001", "the weight '1000001' of 'a' is not 0 to 1000000"),
        ("a:0,b:0", "all weights are 0"),
        ("a:1,A:2", "it names 'a:latest' twice"),
        ("../a:1", "'../a' is no model's name"),
        (",".join(f"m{n}:1" for n in range(9)), "it may name 8 models, not 9"),
    ],
)
def test_what_is_no_split_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        parse_split(text)
    assert str(refused.value).startswith("option 'split' must be models with weights, as a:90,b:10")
    assert words in str(refused.value)
