"""Modelfile texts for properties: soups of words, and lines that nearly are instructions."""

from hypothesis import strategies as st

WORDS = [
    "FROM", "from", "PARAMETER", "MESSAGE", "SYSTEM", "LICENSE", "TEMPLATE", "REQUIRES", "ADAPTER",
    "BAD", "user", "system", "assistant", "User", "seed", "num-gpu", "x_1", "é", "\u00a0", "\u200d",
    "\ufffd", "😀", "#", "1", ":", "{{ .Prompt }}", "\\n", "'", '"', '""', '"""', '"""""', " ",
    "  ",
    "\t", "\n", "\r", "\r\n", "\x00", "\x0b", "\u3000", "\u2028",
]  # fmt: skip
soup = st.lists(st.sampled_from(WORDS), max_size=40).map("".join)
spaced = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
lines = st.lists(
    st.tuples(
        st.sampled_from(["FROM ", "SYSTEM ", "PARAMETER a ", "MESSAGE user ", "# ", ""]),
        soup,
        st.sampled_from(["\n", "\r\n", "\r", " \n", ""]),
    ),
    max_size=6,
).map(lambda parts: "".join(a + b + c for a, b, c in parts))
