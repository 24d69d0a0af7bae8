"""How fast and how right text preparation is, against wetext and upstream's normaliser, in one run.

    python benchmarks/text.py [--json] [--rounds 5] [--chars 20000]

speed   characters a second of process time on three texts (English, Chinese, mixed), the three
        sides in turn, round by round; medians. `prepare` is the whole path (Markdown, Unicode,
        numbers, splitting, limits, account of every character), `wetext` its normaliser alone, a
        sentence a call, `upstream` ChatTTS's normaliser (which writes no numbers out), a sentence a
        call, compiled before.
right   share of tests/text/data/spoken.tsv that each side says as the table wants. wetext is
        spared the rows about Markdown, emoji and full-width forms, and given numbers without
        grouping commas, which it can't read.
first   wall milliseconds from the arrival of a 100 KB text, or of the slice of it (1 or 100
        characters) that completes its first sentence, to the first utterance; medians, worst.
split   seconds for 1 MB through the splitter alone, and through the whole path.
"""

import sys

# A neighbour of this file is called http.py and must not stand in for the standard library's.
sys.path[:] = [path for path in sys.path if not path.endswith("benchmarks")]

import argparse
import json
import platform
import re
import statistics
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ollama_tts.text import prepare
from ollama_tts.text.preparer import Preparer
from ollama_tts.text.rules import CHATTTS_RULES
from ollama_tts.text.split import Splitter

ENGLISH = (
    "The quick brown fox jumps over the lazy dog, and then it runs away. "
    "In 2024 we paid $3.5 million for 12 km of road! Nobody knows why it happened. "
    "Dr. Smith will see you at 9:30 a.m. on March 5th. It was a quiet evening by the lake. "
)
CHINESE = (
    "今天天气很好，我们去公园散步。2024年3月5日花了1234元！大家都不知道为什么，但是很高兴。"
    "会议8:30开始，请准时参加。增长了12.5%，比去年好。他们在公园里散步。"
)
TEXTS = {"english": ENGLISH, "chinese": CHINESE, "mixed": ENGLISH + CHINESE}
TABLE = ROOT / "tests" / "text" / "data" / "spoken.tsv"
Side = Callable[[str], str]


def repeated(base: str, chars: int) -> str:
    return (base * (chars // len(base) + 1))[:chars]


def sentences(text: str) -> list[str]:
    return [s for s in re.split(r"(?<=[。！!])|(?<=[a-z]\.) ", text) if s.strip()]


def is_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None


def whole(text: str) -> str:
    return " ".join(utterance.text for utterance in prepare(text))


def wetext_side() -> Side:
    from wetext import Normalizer

    chinese, english = Normalizer(lang="zh", operator="tn"), Normalizer(lang="en", operator="tn")

    def say(text: str) -> str:
        plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
        try:
            return str((chinese if is_chinese(plain) else english).normalize(plain))
        except AssertionError:
            return ""

    return say


def upstream_side() -> Side:
    from ChatTTS.norm import Normalizer

    normalizer = Normalizer(str(files("ChatTTS") / "res" / "homophones_map.json"))
    normalizer.logger.setLevel("CRITICAL")
    normalizer("你好 [uv_break] hello 1")

    def say(text: str) -> str:
        return str(normalizer(text, do_homophone_replacement=False))

    return say


def speed(sides: dict[str, Side], rounds: int, chars: int) -> dict[str, dict[str, float]]:
    """Characters a second, by text and side."""
    out: dict[str, dict[str, float]] = {}
    for name, base in TEXTS.items():
        text = repeated(base, chars)
        parts = sentences(text)
        taken: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(rounds):
            for side, say in sides.items():
                begin = time.process_time()
                for part in [text] if side == "prepare" else parts:
                    say(part)
                taken[side].append(len(text) / (time.process_time() - begin))
        out[name] = {side: round(statistics.median(rates)) for side, rates in taken.items()}
    return out


def bare(text: str) -> str:
    """Words alone, spelled letters joined, "and" inside numbers left out."""
    words = " ".join(re.sub(r"[^\w\s]|_", " ", text.replace("'", "")).lower().split())
    words = re.sub(r"\b([a-z]) (?=[a-z]\b)", r"\1", words).replace(" and ", " ")
    return re.sub(r"(?<=[\u4e00-\u9fff]) | (?=[\u4e00-\u9fff])", "", words)


def right(sides: dict[str, Side]) -> dict[str, dict[str, float]]:
    """Percent of the table's rows that each side says right, by language."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    skipped = ("markdown", "emoji", "fold")
    rows = [row for row in rows if len(row) == 3 and not row[0].startswith(skipped)]
    out: dict[str, dict[str, float]] = {}
    for language in ("english", "chinese"):
        own = [row for row in rows if is_chinese(row[1]) == (language == "chinese")]
        out[language] = {"rows": len(own)}
        for side, say in sides.items():
            good = sum(bare(say(written)) == bare(spoken) for _, written, spoken in own)
            out[language][side] = round(100 * good / len(own), 1)
    return out


def first_ms(size: int, rounds: int) -> dict[str, float]:
    text = repeated(TEXTS["mixed"], 100_000)
    taken = []
    for _ in range(rounds):
        preparer = Preparer(CHATTTS_RULES)
        for start in range(0, len(text), size):
            begin = time.perf_counter()
            if next(preparer.stream(text[start : start + size]), None) is not None:
                taken.append(1000 * (time.perf_counter() - begin))
                break
    return {"median": round(statistics.median(taken), 3), "worst": round(max(taken), 3)}


def megabyte_s() -> dict[str, dict[str, float]]:
    out = {}
    for name, base in TEXTS.items():
        text = base * (1_000_000 // len(base.encode()) + 1)
        splitter = Splitter(CHATTTS_RULES.max_chars, han_weight=CHATTTS_RULES.han_weight)
        begin = time.process_time()
        splitter.feed(text)
        splitter.finish()
        middle = time.process_time()
        prepare(text)
        end = time.process_time()
        out[name] = {"split": round(middle - begin, 3), "prepare": round(end - middle, 3)}
    return out


def table(title: str, rows: dict[str, dict[str, float]]) -> None:
    heads = list(next(iter(rows.values())))
    print(f"\n{title}")
    print(f"{'':10}" + "".join(f"{head:>12}" for head in heads))
    for name, values in rows.items():
        print(f"{name:10}" + "".join(f"{values[head]:>12,}" for head in heads))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chars", type=int, default=20_000)
    arguments = parser.parse_args()
    sides = {"prepare": whole, "wetext": wetext_side(), "upstream": upstream_side()}
    results = {
        "speed_chars_per_s": speed(sides, arguments.rounds, arguments.chars),
        "right_percent": right(sides),
        "first_utterance_ms": {
            str(size): first_ms(size, 20 * arguments.rounds) for size in (1, 100, 100_000)
        },
        "megabyte_s": megabyte_s(),
    }
    if arguments.json:
        print(json.dumps({"python": platform.python_version(), **results}, indent=1))
        return
    for title, rows in results.items():
        table(title, rows)


if __name__ == "__main__":
    main()
