"""Lists of words, written as one line of text in code."""


def listed(words: str) -> tuple[str, ...]:
    """The words of `words`, which stand apart by white space."""
    return tuple(words.split())
