"""Formats: what a schema's `format` asks of a string.

Only the formats listed here are checked, under these names without dashes (`date-time` is `datetime`); any other
format says nothing. Numbers have formats too, which are ranges and no business of this module. Expressions are kept as
text and compiled when they are first used: together they would take a good part of a cluster's start.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date

from ghostfleet.core.durations import parse_duration

__all__ = ["is_format", "string_format"]

_HOST_LETTER = "[a-zA-Z0-9~]"
_HOSTNAME = (
    rf"({_HOST_LETTER}(-?{_HOST_LETTER}{{0,62}})?"
    rf"|({_HOST_LETTER}([a-zA-Z0-9~-]{{0,61}}{_HOST_LETTER})?\.)+[a-zA-Z]{{2,63}})"
)
_MAC = (
    r"[0-9a-fA-F]{2}(?:(:[0-9a-fA-F]{2}){5}|(:[0-9a-fA-F]{2}){7}|(:[0-9a-fA-F]{2}){19}"
    r"|(-[0-9a-fA-F]{2}){5}|(-[0-9a-fA-F]{2}){7}|(-[0-9a-fA-F]{2}){19})"
    r"|[0-9a-fA-F]{4}(?:(\.[0-9a-fA-F]{4}){2}|(\.[0-9a-fA-F]{4}){3}|(\.[0-9a-fA-F]{4}){9})"
)
_CREDIT_CARD = (
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_RGB = r"\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))"
_LOOSE_DURATION = r"[0-9]+\s*([A-Za-zµ]+)"
_UNIT = r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*"
# Possessive (`++`): a text that does not fit must not be tried in all ways of cutting it to atoms.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]++"
_DOMAIN = rf"(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\\s]*\])"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*+"'
_ADDRESS = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@{_DOMAIN}"
_EMAIL = rf"\s*(?:(?:(?:{_ATOM}|{_QUOTED}|\.)\s*+)*+<\s*{_ADDRESS}\s*>|{_ADDRESS})\s*"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_AUTHORITY = (
    r"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|(?:[^\s#%/?@\\^`{|}:\[\]]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
)
_BAD_ESCAPE = r"%(?![0-9A-Fa-f]{2})"
_CONTROL = r"[\x00-\x1f\x7f]"


def string_format(name: str) -> str:
    """The name under which a format is checked; empty if it is not."""
    plain = name.replace("-", "")
    return plain if plain in _FORMATS else ""


def is_format(name: str, text: str) -> bool:
    """Whether the text has the format that `string_format` named."""
    return _FORMATS[name](text)


def _full(expression: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(expression, text) is not None


def _is_uri(text: str) -> bool:
    """An absolute URI or an absolute path, as in an HTTP request."""
    if not text or re.search(_CONTROL, text):
        return False
    if text == "*":
        return True
    scheme = re.match(_SCHEME, text)
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if scheme is not None and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        if re.fullmatch(_AUTHORITY, authority) is None:
            return False
        rest = slash + path
    return re.search(_BAD_ESCAPE, rest) is None


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    return re.fullmatch(_HOSTNAME, "".join(map(_host_letter, text))) is not None


def _host_letter(character: str) -> str:
    """Any letter is as good as `a`, any symbol as good as `~`."""
    category = unicodedata.category(character)[0]
    if character.isascii() and category != "S":
        return character
    return {"L": "a", "S": "~"}.get(category, "!")


def _is_ipv4(text: str) -> bool:
    return "." in text and _is_ip(text)


def _is_ip(text: str) -> bool:
    """An address of either family; leading zeros in decimal parts are read over."""
    try:
        ipaddress.ip_address(re.sub(r"(?<![0-9a-fA-F:.])0+(?=[0-9]+(\.|$))|(?<=\.)0+(?=[0-9])", "", text))
    except ValueError:
        return False
    return "%" not in text


def _is_ipv6(text: str) -> bool:
    if ":" not in text or "%" in text:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    most = 128 if ":" in address else 32
    return bool(slash) and bits.isascii() and bits.isdecimal() and int(bits) <= most and _is_ip(address)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}X|[0-9]{10}", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum((1, 3)[index % 2] * int(digit) for index, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.fullmatch(_CREDIT_CARD, digits):
        return False
    doubled = (int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return text.startswith("0000-") and _is_date(f"0004{text[4:]}")
    return True


def _is_date_time(text: str) -> bool:
    day, *times = text.lower().split("t")
    match = re.fullmatch(_TIME, times[0]) if times else None
    return match is not None and _is_date(day) and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    """Go's durations, and looser ones such as `3 hours`."""
    try:
        parse_duration(text)
    except ValueError:
        return any(re.fullmatch(_UNIT, unit.lower()) for unit in re.findall(_LOOSE_DURATION, text))
    return True


def _limited(expression: str, most: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= most and re.fullmatch(expression, text) is not None


_HEX4 = "[0-9a-fA-F]{4}"
_SHORT_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _full("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": lambda text: re.fullmatch(_EMAIL, text) is not None,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": lambda text: re.fullmatch(_MAC, text) is not None,
    "uuid": _full(f"{_HEX4}{_HEX4}(-?{_HEX4}){{3}}-?[0-9a-fA-F]{{12}}"),
    "uuid3": _full(f"{_HEX4}{_HEX4}-?{_HEX4}-?3[0-9a-fA-F]{{3}}-?{_HEX4}-?[0-9a-fA-F]{{12}}"),
    "uuid4": _full(f"{_HEX4}{_HEX4}-?{_HEX4}-?4[0-9a-fA-F]{{3}}-?[89abAB][0-9a-fA-F]{{3}}-?[0-9a-fA-F]{{12}}"),
    "uuid5": _full(f"{_HEX4}{_HEX4}-?{_HEX4}-?5[0-9a-fA-F]{{3}}-?[89abAB][0-9a-fA-F]{{3}}-?[0-9a-fA-F]{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _limited("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}", 11),
    "hexcolor": _full("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _full(rf"rgb\({_RGB},{_RGB},{_RGB}\)"),
    "byte": _full("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": _limited(_SHORT_NAME, 63),
    "k8slongname": _limited(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", 253),
}
