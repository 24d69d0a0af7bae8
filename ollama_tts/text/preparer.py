"""`Preparer`: text in as it comes, utterances out, and the account of what is not spoken."""

import re
from collections.abc import Iterator

from ollama_tts.text.account import Account, Dropped, Pause, PreparedUtterance
from ollama_tts.text.acronyms import spell_acronyms
from ollama_tts.text.alphabet import confine, is_speakable
from ollama_tts.text.fit import pieces
from ollama_tts.text.fold import fold
from ollama_tts.text.languages import main_language
from ollama_tts.text.mapped import MappedText, Replacement
from ollama_tts.text.markdown import strip_markdown
from ollama_tts.text.marks import MARK, PLACE, ControlMark, written
from ollama_tts.text.normalize import normalize_words
from ollama_tts.text.rules import CHATTTS_RULES, TextRules
from ollama_tts.text.split import Segment, Splitter

_DROPPED_KINDS = {"code": "code block", "fence": "markdown"}
_PRIVATE = re.compile("[\ue000-\ue0ff]")
_SLICE_CHARS = 500
_RUNS = re.compile(r"\s+|[^\s]+")


class Preparer:
    """Prepares one text for one voice.

    Args:
        rules: What the voice can be given.
        language: "auto", or the language to read numbers and symbols in.
        normalize: Whether numbers, symbols and abbreviations are written out as words.
        latency: "low" lets the first clause go before its sentence is complete.
    """

    def __init__(
        self,
        rules: TextRules,
        language: str = "auto",
        *,
        normalize: bool = True,
        latency: str = "balanced",
    ) -> None:
        self.rules = rules
        self.dropped: list[Dropped] = []
        self._language = language
        self._normalize = normalize
        self._splitter = Splitter(
            rules.max_chars,
            han_weight=rules.han_weight,
            early=latency == "low",
            marks=bool(rules.marks),
        )
        self._previous = "en" if "en" in rules.languages else rules.languages[0]
        self._held: Segment | None = None

    def feed(self, text: str) -> list[PreparedUtterance]:
        """Take more text; give the utterances that are complete now."""
        return list(self.stream(text))

    def stream(self, text: str) -> Iterator[PreparedUtterance]:
        """As `feed`, each utterance as soon as it is ready; to be run to its end."""
        for start in range(0, len(text), _SLICE_CHARS):
            yield from self._take(self._splitter.feed(text[start : start + _SLICE_CHARS]))

    def finish(self) -> list[PreparedUtterance]:
        """No more text comes: give what is left."""
        out = list(self._take(self._splitter.finish()))
        if self._held is not None:
            held, self._held = self._held, None
            out += self._prepare(held, last=True)
        return out

    def _take(self, segments: list[Segment]) -> Iterator[PreparedUtterance]:
        for segment in segments:
            held, self._held = self._held, None
            if segment.kind == "text":
                whole = segment if held is None else _joined(held, segment)
                if held is not None and self._says_no_more(segment, whole):
                    self._held = whole
                    continue
                yield from self._prepare(whole, last=False)
                continue
            if held is not None:
                yield from self._prepare(held, last=True)
            end = segment.start + len(segment.text)
            reason = _DROPPED_KINDS[segment.kind]
            self.dropped.append(Dropped(segment.start, end, segment.text, reason))

    def _says_no_more(self, segment: Segment, whole: Segment) -> bool:
        """Whether a segment without a letter or a digit only makes what is held longer.

        Without this a page of bare punctuation would be prepared anew for each of its signs.
        """
        short = len(whole.text) <= self.rules.max_chars
        return short and not any(char.isalnum() for char in segment.text)

    def _prepare(self, segment: Segment, *, last: bool) -> list[PreparedUtterance]:
        """The utterances of one segment; one too short or without words is held back."""
        account = Account()
        text = self._marked(MappedText.of(segment.text, segment.start), account)
        if self.rules.alphabet != "any":
            text = fold(text, account)
        language = self._judge(text.text)
        text = self._words(text, language, account)
        speakable = is_speakable(text.text)
        last = last or len(segment.text) > self.rules.max_chars
        if not last and (not speakable or self._is_short(text.text, segment)):
            self._held = segment
            return []
        if not speakable:
            _drop_marks(text, account)
            self._drop_all(segment, account)
            return []
        self._previous = language
        parts = pieces(text, self.rules)
        for part, _ in parts:
            if not is_speakable(part.text):
                _drop_marks(part, account)
        self.dropped += account.entries(segment.start, segment.text)
        spoken = [(part, pause) for part, pause in parts if is_speakable(part.text)]
        return _utterances(spoken, segment, language)

    def _is_short(self, text: str, segment: Segment) -> bool:
        if segment.pause in ("line", "paragraph") or len(text) > 8 * self.rules.min_chars:
            return False
        letters = sum(2 if char >= "\u2e80" else 1 for char in text if char.isalnum())
        return letters < self.rules.min_chars

    def _judge(self, text: str) -> str:
        """The language to read this stretch in."""
        found = main_language(text)
        if self._language != "auto" and found in (None, "en", "zh"):
            return self._language
        return found or self._previous

    def _words(self, text: MappedText, language: str, account: Account) -> MappedText:
        if self.rules.alphabet == "any":
            return text.strip()
        text = strip_markdown(text, account)
        if self._normalize and not self.rules.reads_numbers and language in ("en", "zh"):
            text = normalize_words(text, language, account)
        if self.rules.alphabet == "chattts":
            text = spell_acronyms(text)
        return confine(text, self.rules, account)

    def _marked(self, text: MappedText, account: Account) -> MappedText:
        """Control marks made into one character each; those the voice does not know go."""
        text = _without_places(text, account)

        def change(match: re.Match[str]) -> Replacement:
            mark = ControlMark(match[1])
            if text.text[match.end() : match.end() + 1] == "(":
                return None
            if mark.known_to(self.rules.marks):
                return mark.place
            account.drop(text.starts[match.start()], text.ends[match.end() - 1], "control mark")
            return ""

        return text.rewrite(MARK, change)

    def _drop_all(self, segment: Segment, account: Account) -> None:
        """Nothing of this segment can be said: all of it goes on the account."""
        place = segment.start
        known = account.entries(segment.start, segment.text)
        for entry in [*known, None]:
            end = entry.start if entry else segment.start + len(segment.text)
            for run in _RUNS.finditer(segment.text, place - segment.start, end - segment.start):
                reason = "white space" if run[0].isspace() else "punctuation"
                first, last = run.start() + segment.start, run.end() + segment.start
                self.dropped.append(Dropped(first, last, run[0], reason))
            if entry:
                self.dropped.append(entry)
                place = entry.end


def _utterances(
    parts: list[tuple[MappedText, Pause]], segment: Segment, language: str
) -> list[PreparedUtterance]:
    out: list[PreparedUtterance] = []
    start = segment.start
    for index, (part, pause) in enumerate(parts):
        last = index == len(parts) - 1
        ending = segment.pause if last else pause
        end = segment.start + len(segment.text)
        if not last:
            end = max(start, parts[index + 1][0].starts[0])
        source = segment.text[start - segment.start : end - segment.start]
        own = language
        if len(parts) > 1 and language in ("zh", "en"):
            own = main_language(PLACE.sub("", part.text)) or language
        out.append(_utterance(part, source, start, language=own, pause=ending))
        start = end
    return out


def _drop_marks(text: MappedText, account: Account) -> None:
    """The marks of a text without words do nothing."""
    for place in PLACE.finditer(text.text):
        start, end = text.starts[place.start()], text.ends[place.start()]
        account.drop(start, end, "control mark without words")


def _utterance(
    part: MappedText, source: str, start: int, *, language: str, pause: Pause
) -> PreparedUtterance:
    controls = tuple(ControlMark.at(place).name for place in PLACE.findall(part.text))
    text = written(part.text.strip())
    return PreparedUtterance(text, source, language, controls, start, start + len(source), pause)


def _joined(first: Segment, second: Segment) -> Segment:
    return Segment(first.text + second.text, first.start, second.pause)


def _without_places(text: MappedText, account: Account) -> MappedText:
    """Private-use characters of the input mean nothing here, and would be taken for marks."""

    def change(match: re.Match[str]) -> Replacement:
        account.drop(text.starts[match.start()], text.ends[match.start()], "not a character")
        return ""

    return text.rewrite(_PRIVATE, change)


def prepare(
    text: str, language: str = "auto", rules: TextRules | None = None
) -> list[PreparedUtterance]:
    """The utterances of `text`, exactly as an acoustic model is given them.

    Args:
        text: What is to be spoken.
        language: "auto", "en" or "zh".
        rules: What the voice can be given; ChatTTS's rules where None.
    """
    preparer = Preparer(rules or CHATTTS_RULES, language)
    return preparer.feed(text) + preparer.finish()


def says_anything(text: str) -> bool:
    """Whether there is a voice that would find something to say in `text`.

    There is none for white space, punctuation, emoji, or what is never read out, such as code.
    """
    preparer = Preparer(TextRules(min_chars=1, alphabet="any", reads_numbers=True))
    return any(preparer.stream(text)) or bool(preparer.finish())
