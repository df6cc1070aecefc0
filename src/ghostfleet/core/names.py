"""Names that Kubernetes accepts, what it says about the others, and those that it draws.

Each function takes a text and returns the list of what is wrong with it, in Kubernetes' words; an empty list means that
it is valid. A *label* in the DNS sense is one part of a domain name and a *subdomain* several with dots between; a
*qualified name* is the key of a label or annotation, a name with an optional subdomain and slash before it.
Uids and the ends of generated names are drawn from a random stream of the run.
"""

from __future__ import annotations

import re
from random import Random

__all__ = [
    "ALPHABET",
    "is_c_identifier",
    "is_config_map_key",
    "is_dns1035_label",
    "is_dns1123_label",
    "is_dns1123_subdomain",
    "is_env_var_name",
    "is_http_header_name",
    "is_label_value",
    "is_path_segment_name",
    "is_path_segment_prefix",
    "is_percent",
    "is_port_name",
    "is_port_number",
    "is_qualified_name",
    "is_relaxed_env_var_name",
    "is_wildcard_dns1123_subdomain",
    "suffix",
    "uid",
]

#: Letters of generated names: no vowels and no digits that look like them, so that no words come out.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

#: Two letters at a time, the first of them counting fastest.
_PAIRS = tuple(first + second for second in ALPHABET for first in ALPHABET)

_UUID_FREE_BITS = ~((0xF << 76) | (0x3 << 62)) & ((1 << 128) - 1)
_UUID_FIXED_BITS = (0x4 << 76) | (0x2 << 62)

_LABEL_MAX, _SUBDOMAIN_MAX, _PORT_NAME_MAX = 63, 253, 15
_EMPTY = "must be non-empty"


class _Pattern:
    """A regular expression, and the sentence that explains it to those who missed it."""

    def __init__(self, expression: str, sentence: str, *examples: str) -> None:
        self.fits = re.compile(expression).fullmatch
        listed = " or ".join(f"'{example}', " for example in examples)
        self.message = f"{sentence} (e.g. {listed}regex used for validation is '{expression}')"


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_dns1123_label = _Pattern(
    _LABEL,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    "my-name",
    "123-abc",
)
_dns1123_subdomain = _Pattern(
    _SUBDOMAIN,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    "example.com",
)
_dns1035_label = _Pattern(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
)
_wildcard_subdomain = _Pattern(
    rf"\*\.{_SUBDOMAIN}",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
)
_name_part = _Pattern(
    _NAME,
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    "MyName",
    "my.name",
    "123-abc",
)
_label_value = _Pattern(
    f"({_NAME})?",
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    "MyValue",
    "my_value",
    "12345",
)
_config_map_key = _Pattern(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_env_var_name = _Pattern(
    "[-._a-zA-Z][-._a-zA-Z0-9]*",
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit",
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)
_c_identifier = _Pattern(
    "[A-Za-z_][A-Za-z0-9_]*",
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
_percent = _Pattern("[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%")
_http_header_name = _Pattern(
    "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_port_charset = re.compile("[-a-z0-9]+").fullmatch
_letter = re.compile("[a-z]").search
_relaxed_env_var_name = re.compile("[ -<>-~]*").fullmatch


def _longer_than(value: str, limit: int) -> bool:
    """Go counts bytes."""
    return len(value) > limit or (not value.isascii() and len(value.encode(errors="surrogatepass")) > limit)


def _check(value: str, limit: int, pattern: _Pattern, unit: str = "characters") -> list[str]:
    if len(value) <= limit and pattern.fits(value):
        return []
    problems = [f"must be no more than {limit} {unit}"] if _longer_than(value, limit) else []
    if not pattern.fits(value):
        problems.append(pattern.message)
    return problems


def is_dns1123_label(value: str) -> list[str]:
    """Names of namespaces, containers and most things that end up in DNS."""
    problems = _check(value, _LABEL_MAX, _dns1123_label)
    if problems and problems[-1] == _dns1123_label.message and _dns1123_subdomain.fits(value):
        problems[-1] = "must not contain dots"
    return problems


def is_dns1123_subdomain(value: str) -> list[str]:
    """Names of most objects."""
    return _check(value, _SUBDOMAIN_MAX, _dns1123_subdomain)


def is_dns1035_label(value: str) -> list[str]:
    """Names of services: a label that starts with a letter."""
    return _check(value, _LABEL_MAX, _dns1035_label)


def is_wildcard_dns1123_subdomain(value: str) -> list[str]:
    """Hosts such as `*.example.com`."""
    return _check(value, _SUBDOMAIN_MAX, _wildcard_subdomain)


def is_qualified_name(value: str) -> list[str]:
    """Keys of labels, annotations and extended resources."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_name_part.message} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    problems: list[str] = []
    if slash and not prefix:
        problems.append(f"prefix part {_EMPTY}")
    elif slash:
        problems += [
            f"prefix part {problem}" for problem in _check(prefix, _SUBDOMAIN_MAX, _dns1123_subdomain, "bytes")
        ]
    if not name:
        problems.append(f"name part {_EMPTY}")
    return problems + [f"name part {problem}" for problem in _check(name, _LABEL_MAX, _name_part, "bytes")]


def is_label_value(value: str) -> list[str]:
    return _check(value, _LABEL_MAX, _label_value, "bytes")


def is_config_map_key(value: str) -> list[str]:
    """Keys in the data of config maps and secrets: they become file names."""
    return _check(value, _SUBDOMAIN_MAX, _config_map_key) + _leaves_directory(value)


def is_env_var_name(value: str) -> list[str]:
    return ([] if _env_var_name.fits(value) else [_env_var_name.message]) + _leaves_directory(value)


def is_relaxed_env_var_name(value: str) -> list[str]:
    """What newer clusters take as the name of an environment variable: any printable ASCII but `=`."""
    if not value:
        return [f"environment variable name {_EMPTY}"]
    if _relaxed_env_var_name(value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def _leaves_directory(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def is_path_segment_name(value: str) -> list[str]:
    """Names that only have to fit into a URL, such as those of roles."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return is_path_segment_prefix(value)


def is_path_segment_prefix(value: str) -> list[str]:
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def is_port_name(value: str) -> list[str]:
    """An IANA service name: names of the ports of containers."""
    problems = [f"must be no more than {_PORT_NAME_MAX} characters"] if _longer_than(value, _PORT_NAME_MAX) else []
    if not _port_charset(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _letter(value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def is_port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def is_c_identifier(value: str) -> list[str]:
    return [] if _c_identifier.fits(value) else [_c_identifier.message]


def is_percent(value: str) -> list[str]:
    return [] if _percent.fits(value) else [_percent.message]


def is_http_header_name(value: str) -> list[str]:
    return [] if _http_header_name.fits(value) else [_http_header_name.message]


def uid(rng: Random) -> str:
    """A random UUID of version 4, as Kubernetes gives to objects."""
    digits = f"{rng.getrandbits(128) & _UUID_FREE_BITS | _UUID_FIXED_BITS:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def suffix(rng: Random, length: int = 5) -> str:
    """The random end of a generated name, such as `x7k2q`."""
    # Only getrandbits is drawn from: what Random.choice makes of the same bits differs between Python versions.
    bits = rng.getrandbits(8 * length + 24)
    letters = ""
    for _ in range(length // 2):
        bits, index = divmod(bits, len(_PAIRS))
        letters += _PAIRS[index]
    return letters + ALPHABET[bits % len(ALPHABET)] if length % 2 else letters
