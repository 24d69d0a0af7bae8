"""Dates, times, telephone numbers and codes in Chinese."""

import re

from ollama_tts.text.chinese_numbers import cardinal, digits, phone, spoken
from ollama_tts.text.rule import Rule, ascii_rule

HAN_FREE = r"(?<![A-Za-z0-9_/-])(?<![0-9][.,:])"
"""In front of a number: Chinese may stand right before it, Latin letters and digits not."""

_END = r"(?![A-Za-z0-9_]|[.,:/-]\d)"
_TO = r"\s?(?:-|–|—|－|~|至|到)\s?"
_CALL = (
    r"((?:拨打|致电|拨|电话|热线|手机|号码|客服|联系|传真|短信|来电|专线|Tel|TEL|tel|Phone)"
    r"(?:号码|号|热线|电话|为|是|到|至)*[\s:：]*)"
)
_CODE = (
    r"((?:验证码|密码|订单号?|编号|账号|帐号|卡号|尾号|学号|工号|身份证号?|邮编|邮政编码|代码|QQ群?|qq|"
    r"微信号?|群号|单号|序列号|口令|取件码|车牌号?|房号|股票代码|流水号|ID|号码)(?:码|号|为|是|：|:|\s)*)"
)


def _year(text: str) -> str:
    """A year digit by digit; round thousands other than 2000 as a number."""
    if len(text) == 4 and text.endswith("000") and text != "2000":
        return cardinal(int(text))
    return digits(text) if len(text) in (2, 4) else spoken(text)


def _iso_parts(match: re.Match[str]) -> str | None:
    year, month, day = match[1], int(match[3]), int(match[4])
    if not (1 <= month <= 12 and 1 <= day <= 31 and 1000 <= int(year) <= 2999):
        return None
    return f"{digits(year)}年{cardinal(month)}月{cardinal(day)}日"


def _year_month_day(match: re.Match[str]) -> str | None:
    year, month, day, mark = match[1], match[2], match[3], match[4]
    said = f"{_year(year)}年"
    if month:
        said += f"{cardinal(int(month))}月"
    if day:
        said += f"{cardinal(int(day))}{mark or '日'}"
    return said


def _year_alone(match: re.Match[str]) -> str | None:
    number = int(match[1])
    if not 1000 <= number <= 2999:
        return None
    return _year(match[1])


def _years(match: re.Match[str]) -> str:
    return f"{digits(match[1])}到{digits(match[2])}"


def _short_year(match: re.Match[str]) -> str | None:
    number = int(match[1])
    return digits(match[1]) if number >= 70 or match[1].startswith("0") else None


def _decade(match: re.Match[str]) -> str:
    return digits(match[1]) if len(match[1]) == 4 else cardinal(int(match[1]))


def _month_day(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}月{cardinal(int(match[2]))}{match[3]}"


def _hour(text: str) -> str:
    return "两" if text in ("2", "02") else cardinal(int(text))


def _clock(hour: str, minute: str, second: str | None) -> str:
    said = f"{_hour(hour)}点"
    if int(minute):
        said += f"{'零' if minute.startswith('0') else ''}{cardinal(int(minute))}分"
    if second:
        said += f"{'零' if second.startswith('0') else ''}{cardinal(int(second))}秒"
    return said


def _time(match: re.Match[str]) -> str | None:
    hour, minute, second = match[1], match[2], match[3]
    if int(hour) > 24 or int(minute) > 59 or (second and int(second) > 59):
        return None
    half = {"a": "上午", "p": "下午"}.get((match[4] or "").lower(), "")
    return half + _clock(hour, minute, second)


def _times(match: re.Match[str]) -> str | None:
    if int(match[1]) > 24 or int(match[3]) > 24 or int(match[2]) > 59 or int(match[4]) > 59:
        return None
    return f"{_clock(match[1], match[2], None)}到{_clock(match[3], match[4], None)}"


def _half_day(match: re.Match[str]) -> str | None:
    if int(match[1]) > 12:
        return None
    return ("上午" if match[2].lower() == "a" else "下午") + f"{_hour(match[1])}点"


def _ratio(match: re.Match[str]) -> str:
    return "比".join(spoken(part) for part in match[0].replace("：", ":").split(":"))


def _oclock(match: re.Match[str]) -> str:
    return _hour(match[1]) + match[2]


def _minutes(match: re.Match[str]) -> str:
    said = "零" if match[2].startswith("0") and len(match[2]) == 2 else ""
    return f"{_hour(match[1])}点{said}{cardinal(int(match[2]))}分"


def _phone(match: re.Match[str]) -> str:
    return ("加" if match[0].startswith("+") else "") + phone(match[0])


def _called(match: re.Match[str]) -> str:
    return match[1] + phone(match[2])


def _coded(match: re.Match[str]) -> str:
    return match[1] + digits(match[2])


def _digits(match: re.Match[str]) -> str:
    return digits(match[0])


CODE_RULES: tuple[Rule, ...] = (
    ascii_rule(r"(?<=转)\s?\d{2,5}(?!\d)", _phone),
    ascii_rule(
        rf"{HAN_FREE}(?:\+?86[- ]?)?1[3-9]\d(?:[- ]?\d{{4}}){{2}}(?!\d)", _phone, sign=r"\d{4}"
    ),
    ascii_rule(
        rf"{HAN_FREE}[48]00(?:[- ]?\d{{3,4}}[- ]?\d{{3,4}})(?![\d元块个])", _phone, sign="00[- \\d]"
    ),
    ascii_rule(
        rf"{HAN_FREE}\(?0\d{{2,3}}\)?[- ]?\d{{7,8}}(?:-\d{{1,5}})?(?!\d)", _phone, sign=r"\d{7}"
    ),
    ascii_rule(
        rf"{HAN_FREE}\+\d{{1,3}}(?:[- ]?\(?\d{{1,4}}\)?){{2,5}}(?!\d)", _phone, sign=r"\+\d"
    ),
    ascii_rule(
        rf"{_CALL}(\d[\d -]*\d{{2}})(?![\d.,]*\d)(?!\s*[年月日元块个名位条次台部万亿])", _called
    ),
    ascii_rule(
        r"(?<=打)\s?\d{3,5}(?![\d.,])(?!\s*[年月日元块个名位条次台部折分])", lambda m: phone(m[0])
    ),
    ascii_rule(
        rf"{HAN_FREE}(1(?:10|19|20|22)|10086|10010|10000|12345|12306|12315|95\d{{3}})()(?=报警|急救|客服|热线|电话|火警)",
        lambda m: phone(m[1]),
    ),
    ascii_rule(
        rf"{_CODE}([A-Za-z]*\d[\dA-Za-z -]*\d)(?![\d.,]*\d)(?!\s*[年月日元块个名位条次台部万亿])",
        lambda m: m[1] + re.sub(r"\d+", lambda d: digits(d[0]), m[2]),
    ),
    ascii_rule(rf"{HAN_FREE}\d{{4}}(?:[ -]\d{{4}}){{2,4}}(?!\d)", _digits, sign=r"\d{4}[ -]\d{4}"),
    ascii_rule(
        rf"{HAN_FREE}\d{{10,}}(?![\d.,]|[年月日元块个名位条次台部万亿])", _digits, sign=r"\d{10}"
    ),
    ascii_rule(
        r"(?<![\d.,])(\d{3,4})(?=室|号房|房间|号楼\d|教室|病房|宿舍)", lambda m: digits(m[1])
    ),
    ascii_rule(r"(?<=房间)\s?(\d{3,4})(?!\d)|(?<=[教室])(\d{3,4})(?=室)", lambda m: digits(m[0])),
    ascii_rule(
        r"(?<![\d.,])(\d{3})(?=路(?!程)|次列车|次航班|国道|省道|高速)", lambda m: digits(m[1])
    ),
    ascii_rule(
        r"(?<![\d.,])([0-9][05])(?=后(?!来|面|天|续|退|悔|台|备|[\d一二三]))",
        lambda m: digits(m[1]),
    ),
    ascii_rule(
        r"(?<![\d.,A-Za-z-])(?:985|211|996|007|404|315|618|520|1314|911|731|918)(?=高校|大学|院校|工作制|晚会|大促|购物|事件|部队|[和与、，。！？/]|$)",
        lambda m: phone(m[0]),
    ),
)
"""Numbers that are said digit by digit."""

DATE_RULES: tuple[Rule, ...] = (
    ascii_rule(
        rf"{HAN_FREE}(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}})(?![\w]*\d|\.\d)",
        _iso_parts,
        sign=r"\d{4}[-/.]\d",
    ),
    ascii_rule(
        r"(?<![\d.,])(\d{4})\s?年\s?(?:(\d{1,2})\s?月\s?(?:份)?(?:(\d{1,2})\s?([日号])?)?)(?!\d)",
        _year_month_day,
        sign="年",
    ),
    ascii_rule(rf"(?<![\d.,])(\d{{4}})\s?年?{_TO}(\d{{4}})(?=\s?年)", _years, sign="年"),
    ascii_rule(
        r"(?<![\d.,])(\d{4})(?=\s?(?:年(?!前|后|来|间|的?历史|以)|年代|年度|届|级|赛季|财年|款))",
        _year_alone,
    ),
    ascii_rule(
        r"(?<![\d.,])(\d{2})(?=\s?年(?!代|前|后|来|间|的|历史|以|多|期|如一日|级))",
        _short_year,
        sign="年",
    ),
    ascii_rule(r"(?<![\d.,])(\d{2}|\d{4})(?=\s?年代)", _decade, sign="年代"),
    ascii_rule(r"(?<![\d.,])(\d{1,2})\s?月\s?(\d{1,2})\s?([日号])", _month_day, sign="月"),
    ascii_rule(
        rf"{HAN_FREE}(\d{{1,2}})[:：](\d{{2}}){_TO}(\d{{1,2}})[:：](\d{{2}})(?![\d:：])",
        _times,
        sign="[:：]",
    ),
    ascii_rule(
        rf"{HAN_FREE}(\d{{1,2}})[:：](\d{{2}})(?:[:：](\d{{2}}))?(?:\s?([AaPp])\.?[Mm]\.?)?(?![\d:：])",
        _time,
        sign="[:：]",
    ),
    ascii_rule(rf"{HAN_FREE}(\d{{1,2}})\s?([AaPp])\.?[Mm]\b\.?", _half_day, sign="[AaPp]\\.?[Mm]"),
    ascii_rule(rf"{HAN_FREE}\d+(?:\.\d+)?(?:[:：]\d+(?:\.\d+)?)+(?![\w])", _ratio, sign="[:：]"),
    ascii_rule(r"(?<![\d.,])(\d{1,2})\s?[点时]\s?(\d{1,2})\s?分", _minutes, sign="分"),
    ascii_rule(
        r"(?<![\d.,:])(\d{1,2})(\s?(?:点(?!\d)|时(?!代|期|间|尚|常|候)))", _oclock, sign="[点时]"
    ),
)
"""Dates and times."""
