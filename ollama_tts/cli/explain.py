"""explain: what a model would be given of a text, and what of the text would not be spoken."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from ollama_tts.cli.interrupt import interruptible
from ollama_tts.config import Settings
from ollama_tts.errors import UnspeakableText
from ollama_tts.node import Node
from ollama_tts.options import resolve
from ollama_tts.text.explain import explain as account, refusal
from ollama_tts.text.rules import TextRules

Entries = Mapping[str, Sequence[Mapping[str, object]]]


def explain(arguments: argparse.Namespace) -> None:
    """`explain MODEL TEXT [--json]`; the model is looked for in this machine's store.

    Raises:
        UnspeakableText: After the account: the voice lacks the language of some of the text.
    """
    text = _text(arguments.text)
    options = dict(arguments.option)
    rules = interruptible(_rules(arguments.model, options))
    language = resolve(options).speech.language
    found = account(text, language, rules)
    if arguments.json:
        json.dump(found, sys.stdout, ensure_ascii=False, indent=2)
        print()
    else:
        print("\n".join(_lines(found)))
    reason = refusal(text, language, rules)
    if reason is not None:
        raise UnspeakableText(reason)


def _text(words: Sequence[str]) -> str:
    if words and list(words) != ["-"]:
        return " ".join(words)
    return sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")


async def _rules(name: str, options: Mapping[str, object]) -> TextRules:
    """What the loaded model wants of its text; only the model itself knows."""
    async with Node(Settings.from_env()) as node:
        model = node.models.resolve(name)
        load = resolve(model.parameters, options).load
        async with node.scheduler.lease(model, load, 0.0) as lease:
            return lease.runner.traits.text_rules


def _lines(found: Entries) -> list[str]:
    lines = [
        f"{number:3}  [{entry['start']}:{entry['end']}] {entry['language']}  {entry['text']}"
        for number, entry in enumerate(found["utterances"], 1)
    ]
    if found["dropped"]:
        lines.append("not spoken:")
    lines += [
        f"     [{entry['start']}:{entry['end']}] {entry['text']!r}: {entry['reason']}"
        for entry in found["dropped"]
    ]
    return lines
