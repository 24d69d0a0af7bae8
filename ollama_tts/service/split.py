"""`PARAMETER split "a:90,b:10"`: which of several models a request goes to. Policy alone."""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ollama_tts.errors import InvalidName, InvalidOption
from ollama_tts.names import ModelName

MAX_ARMS = 8
MAX_WEIGHT = 1e6
_DECIMAL = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")


@dataclass(frozen=True, slots=True)
class Arm:
    """One model of a split and its share of the requests, in parts of the sum of all weights."""

    name: ModelName
    weight: float


def parse_split(text: str) -> tuple[Arm, ...]:
    """The arms of `a:90,b:10`; what stands after the last colon is the weight.

    Raises:
        InvalidOption: No such list; the text names what is wrong.
    """
    parts = text.split(",")
    if len(parts) > MAX_ARMS:
        raise refused(f"it may name {MAX_ARMS} models, not {len(parts)}")
    arms = tuple(_arm(part.strip()) for part in parts)
    names = [arm.name.folded for arm in arms]
    for arm in arms:
        if names.count(arm.name.folded) > 1:
            raise refused(f"it names '{arm.name.short}' twice")
    if not any(arm.weight for arm in arms):
        raise refused("all weights are 0")
    return arms


def refused(why: str) -> InvalidOption:
    """The error about a split that cannot be used."""
    return InvalidOption(f"option 'split' must be models with weights, as a:90,b:10; {why}")


def _arm(text: str) -> Arm:
    model, colon, number = text.rpartition(":")
    if not colon or not model:
        raise refused(f"{text[:80]!r} has no weight")
    try:
        name = ModelName.parse_reference(model)
    except InvalidName as error:
        raise refused(f"{model[:80]!r} is no model's name") from error
    if not _DECIMAL.fullmatch(number):
        raise refused(f"the weight {number[:40]!r} of {model[:80]!r} is no number as 90 or 0.5")
    weight = float(number)
    if weight > MAX_WEIGHT:
        raise refused(f"the weight {number[:40]!r} of {model[:80]!r} is not 0 to {MAX_WEIGHT:.0f}")
    return Arm(name, weight)


def choose(arms: Sequence[Arm], client_id: str, draw: Callable[[], float]) -> int:
    """The place in `arms` of the one that a request goes to.

    With a client id always the same one, and another weight moves no more clients than it must
    (weighted rendezvous hashing). Without, by `draw`, which gives numbers in [0, 1).
    """
    if client_id:
        return min(range(len(arms)), key=lambda place: _distance(arms[place], client_id))
    left = draw() * sum(arm.weight for arm in arms)
    for place, arm in enumerate(arms):
        left -= arm.weight
        if left < 0:
            return place
    return max(place for place, arm in enumerate(arms) if arm.weight)  # rounding


def _distance(arm: Arm, client_id: str) -> float:
    """Exponential with the arm's weight as its rate: each is the least as often as its share."""
    if not arm.weight:
        return math.inf
    named = "\0".join((*arm.name.folded, client_id)).encode("utf-8", "replace")
    drawn = int.from_bytes(hashlib.sha256(named).digest()[:6])
    return -math.log((drawn + 1) / (2**48 + 1)) / arm.weight
