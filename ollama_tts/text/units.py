"""Units of measure: how they are written, and how English and Chinese say them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: English for one, English for several, Chinese."""

    one: str
    many: str
    zh: str


def _unit(one: str, zh: str, many: str | None = None) -> Unit:
    return Unit(one, many if many is not None else one + "s", zh)


UNITS = {
    "km": _unit("kilometer", "公里"),
    "m": _unit("meter", "米"),
    "cm": _unit("centimeter", "厘米"),
    "mm": _unit("millimeter", "毫米"),
    "µm": _unit("micrometer", "微米"),
    "um": _unit("micrometer", "微米"),
    "nm": _unit("nanometer", "纳米"),
    "mi": _unit("mile", "英里"),
    "ft": _unit("foot", "英尺", "feet"),
    "yd": _unit("yard", "码"),
    "in.": _unit("inch", "英寸", "inches"),
    "inch": _unit("inch", "英寸", "inches"),
    "kg": _unit("kilogram", "千克"),
    "g": _unit("gram", "克"),
    "mg": _unit("milligram", "毫克"),
    "µg": _unit("microgram", "微克"),
    "lb": _unit("pound", "磅"),
    "lbs": _unit("pound", "磅"),
    "oz": _unit("ounce", "盎司"),
    "t": _unit("ton", "吨"),
    "L": _unit("liter", "升"),
    "l": _unit("liter", "升"),
    "ml": _unit("milliliter", "毫升"),
    "mL": _unit("milliliter", "毫升"),
    "cl": _unit("centiliter", "厘升"),
    "tbsp": _unit("tablespoon", "汤匙"),
    "tsp": _unit("teaspoon", "茶匙"),
    "gal": _unit("gallon", "加仑"),
    "m²": _unit("square meter", "平方米"),
    "m2": _unit("square meter", "平方米"),
    "km²": _unit("square kilometer", "平方公里"),
    "km2": _unit("square kilometer", "平方公里"),
    "cm²": _unit("square centimeter", "平方厘米"),
    "cm2": _unit("square centimeter", "平方厘米"),
    "mm²": _unit("square millimeter", "平方毫米"),
    "ft²": _unit("square foot", "平方英尺", "square feet"),
    "sq ft": _unit("square foot", "平方英尺", "square feet"),
    "m³": _unit("cubic meter", "立方米"),
    "m3": _unit("cubic meter", "立方米"),
    "cm³": _unit("cubic centimeter", "立方厘米"),
    "cm3": _unit("cubic centimeter", "立方厘米"),
    "ha": _unit("hectare", "公顷"),
    "ms": _unit("millisecond", "毫秒"),
    "µs": _unit("microsecond", "微秒"),
    "us": _unit("microsecond", "微秒"),
    "ns": _unit("nanosecond", "纳秒"),
    "s": _unit("second", "秒"),
    "sec": _unit("second", "秒"),
    "secs": _unit("second", "秒"),
    "min": _unit("minute", "分钟"),
    "mins": _unit("minute", "分钟"),
    "h": _unit("hour", "小时"),
    "hr": _unit("hour", "小时"),
    "hrs": _unit("hour", "小时"),
    "Hz": _unit("hertz", "赫兹", "hertz"),
    "kHz": _unit("kilohertz", "千赫兹", "kilohertz"),
    "MHz": _unit("megahertz", "兆赫兹", "megahertz"),
    "GHz": _unit("gigahertz", "吉赫兹", "gigahertz"),
    "kB": _unit("kilobyte", "K B"),
    "KB": _unit("kilobyte", "K B"),
    "MB": _unit("megabyte", "M B"),
    "GB": _unit("gigabyte", "G B"),
    "TB": _unit("terabyte", "T B"),
    "PB": _unit("petabyte", "P B"),
    "KiB": _unit("kibibyte", "K B"),
    "MiB": _unit("mebibyte", "M B"),
    "GiB": _unit("gibibyte", "G B"),
    "Gb": _unit("gigabit", "吉比特"),
    "Mb": _unit("megabit", "兆比特"),
    "kbps": _unit("kilobit per second", "千比特每秒", "kilobits per second"),
    "Mbps": _unit("megabit per second", "兆比特每秒", "megabits per second"),
    "Gbps": _unit("gigabit per second", "吉比特每秒", "gigabits per second"),
    "W": _unit("watt", "瓦"),
    "kW": _unit("kilowatt", "千瓦"),
    "MW": _unit("megawatt", "兆瓦"),
    "GW": _unit("gigawatt", "吉瓦"),
    "kWh": _unit("kilowatt hour", "千瓦时"),
    "Wh": _unit("watt hour", "瓦时"),
    "V": _unit("volt", "伏"),
    "kV": _unit("kilovolt", "千伏"),
    "mV": _unit("millivolt", "毫伏"),
    "mA": _unit("milliamp", "毫安"),
    "mAh": _unit("milliamp hour", "毫安时"),
    "Ω": _unit("ohm", "欧姆"),
    "kΩ": _unit("kilohm", "千欧"),
    "dB": _unit("decibel", "分贝"),
    "J": _unit("joule", "焦耳"),
    "kJ": _unit("kilojoule", "千焦"),
    "cal": _unit("calorie", "卡"),
    "kcal": _unit("kilocalorie", "千卡"),
    "Pa": _unit("pascal", "帕"),
    "kPa": _unit("kilopascal", "千帕"),
    "MPa": _unit("megapascal", "兆帕"),
    "hPa": _unit("hectopascal", "百帕"),
    "psi": _unit("P S I", "磅每平方英寸", "P S I"),
    "mmHg": _unit("millimeter of mercury", "毫米汞柱", "millimeters of mercury"),
    "mol": _unit("mole", "摩尔"),
    "px": _unit("pixel", "像素"),
    "dpi": _unit("dot per inch", "点每英寸", "dots per inch"),
    "ppm": _unit("part per million", "P P M", "parts per million"),
    "mph": _unit("mile per hour", "英里每小时", "miles per hour"),
    "kph": _unit("kilometer per hour", "公里每小时", "kilometers per hour"),
    "kmh": _unit("kilometer per hour", "公里每小时", "kilometers per hour"),
    "rpm": _unit("revolution per minute", "转每分钟", "revolutions per minute"),
    "bpm": _unit("beat per minute", "次每分钟", "beats per minute"),
    "fps": _unit("frame per second", "帧每秒", "frames per second"),
    "mpg": _unit("mile per gallon", "英里每加仑", "miles per gallon"),
    "mol/L": _unit("mole per liter", "摩尔每升", "moles per liter"),
}
"""By what is written after the number."""

TIGHT = frozenset({"t", "s", "h", "V", "W", "J", "in.", "us"})
"""Units that are units only right behind the digits: "5s", not "5 s"."""

PER = {
    "h": ("hour", "小时"),
    "hr": ("hour", "小时"),
    "hour": ("hour", "小时"),
    "s": ("second", "秒"),
    "sec": ("second", "秒"),
    "min": ("minute", "分钟"),
    "day": ("day", "天"),
    "d": ("day", "天"),
    "week": ("week", "周"),
    "wk": ("week", "周"),
    "month": ("month", "月"),
    "mo": ("month", "月"),
    "year": ("year", "年"),
    "yr": ("year", "年"),
    "kg": ("kilogram", "千克"),
    "g": ("gram", "克"),
    "L": ("liter", "升"),
    "l": ("liter", "升"),
    "ml": ("milliliter", "毫升"),
    "mL": ("milliliter", "毫升"),
    "m²": ("square meter", "平方米"),
    "m2": ("square meter", "平方米"),
    "m³": ("cubic meter", "立方米"),
    "m3": ("cubic meter", "立方米"),
    "cm³": ("cubic centimeter", "立方厘米"),
    "km": ("kilometer", "公里"),
    "m": ("meter", "米"),
    "person": ("person", "人"),
    "user": ("user", "用户"),
    "s²": ("second squared", "二次方秒"),
    "s2": ("second squared", "二次方秒"),
    "GB": ("gigabyte", "G B"),
    "unit": ("unit", "件"),
    "night": ("night", "晚"),
    "lb": ("pound", "磅"),
    "oz": ("ounce", "盎司"),
}
"""What may stand behind the slash of a rate: English, Chinese."""


def alternatives(words: Iterable[str]) -> str:
    """`words` as alternatives of a pattern, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
