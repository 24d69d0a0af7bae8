"""Acronyms spelled as letters, for voices that would read them as words."""

import re

from ollama_tts.text.mapped import MappedText, Replacement
from ollama_tts.text.wordlist import listed

_CANDIDATE = re.compile(r"(?<![A-Za-z'’])([A-Z]{2,7})(s?)(?![A-Za-z])")
_LATIN_WORD = re.compile(r"[A-Za-z]{2,}")
_VOWEL = re.compile(r"[AEIOUY]")
_SAID_AS_WORDS = frozenset(
    listed(
        "NASA NATO UNICEF UNESCO OPEC ASEAN APEC AIDS COVID SARS MERS JPEG JSON RAM ROM SIM "
        "PIN LAN WAN GIF WIFI ASAP NASDAQ FIFA UEFA OSHA DARPA LASER RADAR SONAR SCUBA TESLA "
        "LEGO IKEA OK NUMA CUDA BIOS POSIX YAML TOML SAAS SWAT TED ZIP BASE LIDAR CAPTCHA "
        "UNIX LINUX NAS OPPO VIVO NIO BYD DOTA SOHO FAQ MAC"
    )
)
_COMMON = frozenset(
    listed(
        "THE AND FOR NOT YOU ALL BUT OUT NEW NOW TOP HOT BIG ARE CAN HAS HAD HIS HER WAS ONE "
        "TWO SIX TEN OUR DAY GET MAN OLD SEE WAY WHO BOY DID ITS LET PUT SAY SHE TOO USE BAD "
        "BED BOX CAR CAT CUT DOG EAR EAT END EYE FAR FEW FUN GOD GOT GUN HIT JOB KEY LAW LAY "
        "LEG LIE LOT LOW MAP MAY MEN MOM DAD NET OFF OIL OWN PAY PER RED RUN SAD SEA SET SIT "
        "SON SUN TAX TEA TRY WAR WHY WIN YES YET AN AS AT BE BY DO GO HE IF IN IS MY NO OF ON "
        "OR SO TO UP WE ME AGO AIR ANY ASK BUY COW CRY DIE DRY EGG FIX FLY FOX HAT ICE JOY "
        "KID LAB MIX MUD NOR ODD PEN PIG POP RAW ROW SKY TIE TOY VAN WET WOW YOUR HEY BYE AHA "
        "HI OH"
    )
)
_SPELLED = frozenset(
    listed(
        "UCLA USDA USAF OECD IEEE AARP NCAA NAACP IELTS ICAO IATA ISBN ICBC IPTV OLED UEFI "
        "USSR EULA AEST UAE EBITDA ECMA UIUC UNHCR AOL"
    )
) - {"IELTS", "IATA", "ICAO", "EULA", "EBITDA", "OLED"}
_SHOUT = 0.6


def spell_acronyms(text: MappedText) -> MappedText:
    """`text` with the letters of acronyms apart ("USB" is "U S B"); shouted words stay."""
    if not _CANDIDATE.search(text.text):
        return text
    words = _LATIN_WORD.findall(text.text)
    loud = len(words) > 3 and sum(word.isupper() for word in words) > _SHOUT * len(words)

    def change(match: re.Match[str]) -> Replacement:
        if not _is_spelled(match[1], loud=loud):
            return None
        parts: list[str | tuple[int, int]] = []
        for place in range(match.start(1), match.end(1)):
            parts += [(place, place + 1), " "]
        parts.pop()
        return [*parts, match.span(2)]

    return text.rewrite(_CANDIDATE, change)


def _is_spelled(word: str, *, loud: bool) -> bool:
    if word in _SAID_AS_WORDS or word in _COMMON:
        return False
    if not _VOWEL.search(word) or word in _SPELLED:
        return True
    return len(word) <= 3 and not loud
