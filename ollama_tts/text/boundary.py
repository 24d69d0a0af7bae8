"""Where sentences and clauses end, judged at one stop of the text.

Answers are places in the text (cut there), 0 (no cut), or None: more text must come first.
"""

import re
from dataclasses import dataclass

from ollama_tts.text.wordlist import listed

_WIDE = "\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
_DELIMITER = re.compile(rf"[\s\[\]`{_WIDE}]")
_CHUNK_MOST = 2048
_TAIL_MOST = 32
_FULL_STOPS = "。！？｡"
_STOPS = ".!?…؟۔।॥"
_CLOSERS = "\"'”’)]}*_~»"
_OPENERS = "\"'“‘([{*_~«"
_WIDE_CLOSERS = "”’」』》）】〉\"')"
_MAYBE_WORD = re.compile(r"[ \t]*[\"'“‘(\[{*_~«]*([^\s]*)(\s?)")

NEVER = frozenset(
    listed(
        "mr mrs ms mx dr prof st mt gen col capt lt sgt cmdr adm gov sen rep rev hon pres "
        "supt vs e.g i.e cf viz al esp approx dept est min max misc tel ext fr mme mlle "
        "messrs z.b d.h u.a bzw ca"
    )
)
"""Abbreviations that a sentence goes on after."""

_BEFORE_NUMBER = frozenset(listed("no nos nr p pp vol vols ch chap fig figs eq sec art ver v"))
_SOMETIMES = frozenset(
    listed(
        "etc inc ltd co corp llc jr sr bros ave blvd rd ln hwy apt a.m p.m am pm jan feb mar "
        "apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun oz "
        "lb lbs ft hr hrs sq ph.d m.d b.a m.a b.sc m.sc d.c"
    )
)
_DATES = frozenset(
    listed(
        "monday tuesday wednesday thursday friday saturday sunday january february march "
        "april may june july august september october november december"
    )
)
STARTERS = frozenset(
    listed(
        "a after all also although an and another any are as at because before both but by "
        "can could did do does each even every everyone few finally first for from had has "
        "have he her here his how however i if in is it it's its just last let like many may "
        "maybe me more most my never next no nobody not nothing now of on once one only or "
        "our over perhaps please she should since so some still such than that that's the "
        "their them then there there's these they this those though through thus to today "
        "tomorrow too under until was we we're were what what's when where which while who "
        "why will with would yes yesterday you you're your ask"
    )
)
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_LIST_NUMBER = re.compile(r"\d{1,3}|[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Context:
    """What the splitter knows at a stop.

    `final`: no more text comes. `quoted`: a quotation mark or bracket is open.
    `low`: a Chinese full stop ends a sentence at once, without a look at what follows.
    """

    final: bool
    quoted: bool = False
    low: bool = False


def weight(text: str) -> int:
    """Length of `text` by ear: a Chinese character counts two, a Latin letter one."""
    return (len(text) + len(text.encode("utf-8", "surrogatepass"))) // 2


def sentence_end(text: str, place: int, start: int, context: Context) -> int | None:
    """Where the sentence of the stop at `place` ends; the utterance began at `start`."""
    char = text[place]
    if char in _FULL_STOPS:
        return _full_stop(text, place, context)
    end = _chunk_end(text, place, context) if char in _STOPS else 0
    return _chunk_boundary(text, start, (place, end), context) if end else end


def _chunk_boundary(text: str, start: int, span: tuple[int, int], context: Context) -> int | None:
    """Whether the run whose stop is at `span[0]` and that ends at `span[1]` ends a sentence."""
    place, end = span
    begin = _chunk_start(text, place, start)
    core = text[begin:end].rstrip(_CLOSERS)
    if not core or core[-1] not in _STOPS:
        return 0
    following = text[end : end + 1]
    if following in ("", "\n", "[", "]", "`"):
        return 0
    core = core.lstrip(_OPENERS)
    if not following.isspace():
        return _before_wide(core, end)
    first = not text[start:begin].strip()
    return _before_space(text, core, end, context, first=first)


def after(text: str, place: int, context: Context) -> int | None:
    """Where scanning goes on after a stop at `place` that ends nothing."""
    if text[place] not in _STOPS:
        return place + 1
    return _chunk_end(text, place, context)


def clause_end(text: str, place: int, context: Context) -> int | None:
    """Where the clause of the comma, colon or semicolon at `place` ends."""
    char = text[place]
    if char in "，；：":
        return place + 1
    if char not in ",;:":
        return 0
    if place + 1 == len(text):
        return 0 if context.final else None
    return place + 2 if text[place + 1] in " \t" else 0


def _full_stop(text: str, place: int, context: Context) -> int | None:
    """Behind a Chinese full stop with all stops and closing quotes that follow it."""
    if context.low and not context.quoted:
        return place + 1
    end = place + 1
    most = place + _TAIL_MOST
    while end < min(len(text), most) and (text[end] in _FULL_STOPS or text[end] in _WIDE_CLOSERS):
        end += 1
    if end == most:
        return end
    if end == len(text):
        return 0 if context.final else None
    return 0 if text[end] == "\n" else end


def _chunk_end(text: str, place: int, context: Context) -> int | None:
    """End of the run without white space or Chinese that holds `place`."""
    match = _DELIMITER.search(text, place, place + _CHUNK_MOST)
    if match is not None:
        return match.start()
    if len(text) - place >= _CHUNK_MOST:
        return place + _CHUNK_MOST
    return len(text) if context.final else None


def _chunk_start(text: str, place: int, start: int) -> int:
    begin = place
    while begin > start and not _DELIMITER.match(text[begin - 1]):
        begin -= 1
    return begin


def _before_wide(core: str, end: int) -> int:
    """A stop with a Chinese character right after it: "用 Python.然后" but not "1.苹果"."""
    if core[-1] in "!?":
        return end
    if core[-1] != "." or core.endswith(".."):
        return 0
    word = core[:-1]
    return 0 if word[-1:].isdigit() or word.lower() in NEVER or len(word) == 1 else end


def _before_space(text: str, core: str, end: int, context: Context, *, first: bool) -> int | None:
    if core[-1] == "." and not core.endswith(".."):
        return _full_point(text, core[:-1], end, context, first=first)
    if core[-1] in "….":
        word = _next_word(text, end, context)
        if word is None:
            return None
        return end + 1 if word[:1].isupper() or word[:1] >= "\u2e80" else 0
    return end + 1


def _full_point(text: str, word: str, end: int, context: Context, *, first: bool) -> int | None:
    """A full point with a space after it: the end, or part of an abbreviation or a list."""
    lower = word.lower()
    if lower in NEVER or (first and _LIST_NUMBER.fullmatch(word)):
        return 0
    initial = len(word) == 1 and word.isalpha()
    dotted = _INITIALS.fullmatch(word) is not None
    if not (initial or dotted or lower in _SOMETIMES or lower in _BEFORE_NUMBER):
        return end + 1
    following = _next_word(text, end, context)
    if following is None:
        return None
    if lower in _BEFORE_NUMBER and not initial:
        return 0 if following[:1].isdigit() else end + 1
    return end + 1 if _starts_sentence(lower, following) else 0


def _starts_sentence(abbreviation: str, word: str) -> bool:
    """Whether `word` begins a sentence after an abbreviation that may end one."""
    if word[:1] >= "\u2e80":
        return True
    if not word[:1].isupper():
        return False
    plain = word.lower().rstrip(".,;:!?\"'”’)")
    if plain in STARTERS:
        return True
    return abbreviation in ("etc", "a.m", "p.m") and plain not in _DATES and not word.isupper()


def _next_word(text: str, end: int, context: Context) -> str | None:
    """The word after the white space at `end`; "" where a line break or the end comes first."""
    match = _MAYBE_WORD.match(text, end, end + 200)
    assert match is not None
    if not match[2] and not context.final and match.end() < end + 200:
        return None
    return match[1]
