"""Texts of every kind for property tests: English, Chinese, mixed, Markdown, garbage."""

from hypothesis import strategies as st

_KINDS = """
the cat Dr. St. e.g. U.S. a.m. 3.14 v2.10.3 $4.2 million 12.5% 9:30 https://a.b/c?d=1.e
jane@x.org No. 5 IV can't USB ... … !? — “quoted” (aside) [laugh] [uv_break] [oops]
[link](http://x.y) `code` **bold** *soft* # ## - 1. > ``` ~~~ | --- 😀 ❤️ é ñ 1/2 ½ 21°C 5G 007
1,234.50 你好 世界 中文 我们今天去 2024年3月5日 8:30 ￥5 ，。 ！ ？ ； 、 “好的。” 《书》 （注）
…… １２３ Ａ Привет こんにちは عربي α
"""
_WORDS = st.sampled_from(_KINDS.split())
_GAPS = st.sampled_from(
    ["", " ", " ", " ", "\n", "\n\n", "  ", "\t", "\r\n", ". ", ", ", "。", "，"]
)


@st.composite
def written(draw: st.DrawFn) -> str:
    """A text of words, signs and gaps."""
    parts = draw(st.lists(st.tuples(_WORDS, _GAPS), max_size=60))
    return "".join(word + gap for word, gap in parts)


def garbage() -> st.SearchStrategy[str]:
    """Any code points, lone surrogates and controls included."""
    odd = st.sampled_from(
        "\x00\x1b\ud800\udfff\ue000\uffff\u200d\u202e\u0301\u3099\ufe0f\ufeff[]`*#|.\n"
    )
    return st.text(st.one_of(st.characters(), odd, st.sampled_from("ab1.， 。中[`\n")), max_size=80)


def texts() -> st.SearchStrategy[str]:
    """Texts of every kind."""
    return st.one_of(written(), garbage(), st.text(max_size=40))


def cuts() -> st.SearchStrategy[list[int]]:
    """Sizes of the pieces in which a text is fed."""
    return st.lists(st.integers(1, 9), min_size=1, max_size=40)
