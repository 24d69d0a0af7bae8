"""Numbers beside measure words, names with digits, and signs, in Chinese."""

import re

from ollama_tts.text.chinese_dates import HAN_FREE
from ollama_tts.text.chinese_numbers import cardinal, counted, digits, spoken
from ollama_tts.text.english_words import WORD_RULES as ENGLISH_WORDS, roman
from ollama_tts.text.rule import NUMBER, Partly, Rule, ascii_rule
from ollama_tts.text.wordlist import listed

_MEASURES = (
    "个|位|名|本|张|只|条|件|台|部|辆|架|艘|座|栋|幢|间|家|所|把|支|枝|根|块|片|颗|粒|瓶|杯|碗|盒|箱|包|袋|"
    "双|对|套|种|类|次|回|遍|场|届|期|篇|首|章节|句|段|行|列|排|层|倍|分钟|小时|天|周|年|个月|岁|元|块|美元|"
    "欧元|英镑|日元|港元|公里|千米|米|厘米|毫米|公斤|千克|斤|克|吨|升|毫升|平方|立方|英里|英尺|英寸|人|口|"
    "头|匹|群|步|圈|轮|票|票|点钟|刻钟|万|亿|千|成|度|摄氏度|瓦|千瓦|秒|晚|夜|代|道|朵|棵|株|门|项|批|份|"
    "顿|趟|阵|声|面|封|幅|副|口|串|团|堆|滴|盘|盏|盆|盒|罐|卷|册|集|幕|局|节|组|队|派|家|户|款|国|省|市|县|地|市|校|院|者|字|笔"
)
_ORDINAL_MARKS = "月|日|号|楼|班|级|路|环|线|栋楼|单元|号线|频道|%|季度"
_ROMAN = r"([IVX]{1,6}|[ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫ])"
_ROMAN_SIGNS = "ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫ"
_GREEK = {
    "α": "阿尔法",
    "β": "贝塔",
    "γ": "伽马",
    "δ": "德尔塔",
    "Δ": "德尔塔",
    "ε": "艾普西龙",
    "θ": "西塔",
    "λ": "兰姆达",
    "µ": "缪",
    "μ": "缪",
    "π": "派",
    "ρ": "柔",
    "σ": "西格玛",
    "Σ": "西格玛",
    "τ": "套",
    "φ": "斐",
    "χ": "卡方",
    "ψ": "普赛",
    "ω": "欧米伽",
    "Ω": "欧米伽",
    "η": "伊塔",
}
_SIGNS = {
    "&": "和",
    "@": "艾特",
    "%": "百分号",
    "=": "等于",
    "+": "加",
    "×": "乘",
    "÷": "除以",
    "≈": "约等于",
    "≠": "不等于",
    "≤": "小于等于",
    "≥": "大于等于",
    "±": "正负",
    "√": "根号",
    "∞": "无穷大",
    "→": "到",
    "←": "从",
    "$": "美元",
    "€": "欧元",
    "£": "英镑",
    "¥": "元",
    "￥": "元",
    "₩": "韩元",
    "°": "度",
    "℃": "摄氏度",
    "℉": "华氏度",
    "№": "第",
    "‰": "千分号",
    "²": "的平方",
    "³": "的立方",
    "^": "的次方",
    "~": "",
    "#": "",
    "<": "小于",
    ">": "大于",
    "∑": "求和",
    "∫": "积分",
    "∈": "属于",
    "⇒": "推出",
    "↑": "上升",
    "↓": "下降",
    "§": "第",
    "¹": "",
    "∠": "角",
    "⊥": "垂直于",
    "∥": "平行于",
    "∵": "因为",
    "∴": "所以",
    "〇": "零",
}


_OPERATORS = dict(
    zip("+-−*×x/=<>·", listed("加 减 减 乘 乘 乘 除以 等于 小于 大于 乘"), strict=True)
)


def _measured(match: re.Match[str]) -> str:
    low, number = match[1], match[2]
    head = f"{counted(low)}到" if low else ""
    return head + counted(number)


def _range(match: re.Match[str]) -> str | None:
    return f"{spoken(match[1])}到{spoken(match[2])}"


def _negative(match: re.Match[str]) -> str:
    return "负" + spoken(match[1])


def _version(match: re.Match[str]) -> str:
    parts = "点".join(spoken(part) for part in match[2].split("."))
    return f"{match[1]} {parts}" if match[1] else parts


def _name(match: re.Match[str]) -> str:
    """A name of letters and digits: three digits and more one by one, fewer as a number."""
    said: list[str] = []
    for part in re.findall(r"[A-Za-z]+|\d+(?:\.\d+)?", match[0]):
        if part[0].isdigit():
            code = len(part) > 2 and part.isdigit() and bool(said)
            said.append(digits(part) if code else spoken(part))
        else:
            said.append(part)
    return " ".join(said)


def _roman(match: re.Match[str]) -> str:
    text = match[1]
    if text in _ROMAN_SIGNS:
        return cardinal(_ROMAN_SIGNS.index(text) + 1)
    return cardinal(roman(text))


def _operator(match: re.Match[str]) -> str:
    return _OPERATORS[match[1]]


def _power(match: re.Match[str]) -> str:
    base = match[1] if match[1].isalpha() else spoken(match[1])
    exponent = {"²": "2", "³": "3"}.get(match[2], match[2].lstrip("^ "))
    name = {"2": "平方", "3": "立方"}.get(exponent) or f"{spoken(exponent)}次方"
    return f"{base}的{name}"


def _sign(match: re.Match[str]) -> str | Partly:
    return _SIGNS[match[0]] or Partly("", (match.span(),), "symbol")


WORD_RULES: tuple[Rule, ...] = (
    ascii_rule(rf"(?<![A-Za-z0-9])([A-Za-z]|{NUMBER})\s?(\^\s?-?\d+|[²³])", _power, sign="[²³^]"),
    *ENGLISH_WORDS[:6],
    ascii_rule(
        r"(?<![A-Za-z])[Nn][Oo]\.\s?(\d+)|№\s?(\d+)",
        lambda m: "第" + cardinal(int(m[1] or m[2])),
        sign=r"[Nn][Oo]\.|№",
    ),
    ascii_rule(r"#\s?(\d+)(?!\d)", lambda m: cardinal(int(m[1])) + "号", sign="#"),
    ascii_rule(r"(?<![\d])(\d+)(?:st|nd|rd|th)\b", lambda m: "第" + cardinal(int(m[1]))),
    ascii_rule(rf"(?<=第)\s?{_ROMAN}(?![A-Za-z])", _roman, sign="[IVXⅠ-Ⅻ]"),
    ascii_rule(
        rf"(?<![A-Za-z]){_ROMAN}(?=期|型|级|类|卷|章|世|部|度|代|相|区)", _roman, sign="[IVXⅠ-Ⅻ]"
    ),
    ascii_rule(r"[Ⅰ-Ⅻ]", lambda m: cardinal(_ROMAN_SIGNS.index(m[0]) + 1), sign="[Ⅰ-Ⅻ]"),
    ascii_rule(
        r"(?<![A-Za-z])([vV])?\.?(\d+(?:\.\d+){2,}|(?<=[vV])\d+(?:\.\d+)?)(?![\d.])", _version
    ),
    ascii_rule(r"(?<![A-Za-z])C\+\+", lambda _: "C加加", sign=r"C\+\+"),
)
"""Abbreviations, ordinals, Roman numerals, versions."""

NUMBER_RULES: tuple[Rule, ...] = (
    ascii_rule(
        r"(?<=[\d)a-zA-Z])\s?([+−*×/=<>·])\s?(?=[-\d(a-zA-Z])(?<![a-zA-Z]/)(?<!\d/)",
        _operator,
        sign="[+−*×=<>·]",
    ),
    ascii_rule(r"(?<=\d)\s?(-)\s?(?=\d+(?:\.\d+)?\s?(?:=|等于))", _operator, sign="=|等于"),
    ascii_rule(
        rf"{HAN_FREE}({NUMBER})\s?(?:-|–|—|－|~)\s?({NUMBER})(?=\s?(?:{_MEASURES}))",
        _measured,
        sign="[-–—－~]",
    ),
    ascii_rule(
        rf"{HAN_FREE}({NUMBER})\s?(?:-|–|—|－|~)\s?({NUMBER})(?![\w-]*\d|[A-Za-z])",
        _range,
        sign="[-–—－~]",
    ),
    ascii_rule(
        rf"(?<![\w.,)])[-−]({NUMBER})|(?<=[\u3400-\u9fff])[-−]({NUMBER})",
        lambda m: "负" + spoken(m[1] or m[2]),
        sign="[-−]",
    ),
    ascii_rule(rf"(?<![\d.,A-Za-z])(?<!第)()(2)(?=\s?(?:{_MEASURES})(?!月份))", _measured),
    ascii_rule(
        r"[A-Za-z]+-?\d+(?:\.\d+)?(?:-?[A-Za-z]+)?|(?<![\d.])\d+(?:\.\d+)?[A-Za-z]+(?![A-Za-z])",
        _name,
        sign=r"[A-Za-z]-?\d|\d[A-Za-z]",
    ),
    ascii_rule(rf"{NUMBER}|\d+", lambda m: spoken(m[0])),
)
"""Arithmetic, ranges, counted things, names with digits, and every number that is left."""

SIGN_RULES: tuple[Rule, ...] = (
    ascii_rule(r"(?<=[\u4e00-\u9fff])~(?=[\u4e00-\u9fff])", lambda _: "到", sign="~"),
    ascii_rule(r"(?<=[元块钱次])/(?=[\u4e00-\u9fff])", lambda _: "每", sign="/"),
    ascii_rule(r"[" + re.escape("".join(_SIGNS)) + r"]", _sign, sign=None),
    ascii_rule(
        r"[" + "".join(_GREEK) + r"](?![\u0370-\u03ff])(?<![\u0370-\u03ff][\u0370-\u03ff])",
        lambda m: _GREEK[m[0]],
        sign="[\u0370-\u03ffµ]",
    ),
)
"""Signs that are left."""
