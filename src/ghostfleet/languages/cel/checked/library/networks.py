"""Addresses: IPs, networks (CIDR) and URLs."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlsplit

from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.values import name_type
from ghostfleet.languages.cel.values import CelError

__all__ = ["NETWORKS", "url_problem"]

_IP, _CIDR, _URL = "net.IP", "net.CIDR", "kubernetes.URL"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class IP:
    address: _Address


@dataclass(frozen=True, slots=True)
class CIDR:
    """A network as it was written: an address and how many bits of it matter."""

    address: _Address
    bits: int

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network((self.address, self.bits), strict=False)


@dataclass(frozen=True, slots=True)
class URL:
    text: str


name_type(IP, _IP)
name_type(CIDR, _CIDR)
name_type(URL, _URL)


def _address(text: str) -> _Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        problem = f'ParseAddr("{text}"): unable to parse IP'
        raise CelError(f'IP Address "{text}" parse error during conversion from string: {problem}') from None
    if "%" in text:
        raise CelError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _ip(text: str) -> IP:
    return IP(_address(text))


def _is(parse: object, text: str) -> bool:
    try:
        parse(text)  # type: ignore[operator]
    except CelError:
        return False
    return True


def _cidr(text: str) -> CIDR:
    words = "network address parse error during conversion from string"
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise CelError(f"{words}: {words}: netip.ParsePrefix(\"{text}\"): no '/'")
    try:
        found = _address(address)
    except CelError as error:
        raise CelError(f"{words}: {words}: {error}") from None
    if not re.fullmatch(r"0|[1-9][0-9]{0,2}", bits):
        raise CelError(f'{words}: {words}: netip.ParsePrefix("{text}"): bad bits after slash: "{bits}"')
    if int(bits) > found.max_prefixlen:
        raise CelError(f'{words}: {words}: netip.ParsePrefix("{text}"): prefix length out of range')
    return CIDR(found, int(bits))


def _contains_ip(network: CIDR, ip: IP) -> bool:
    return ip.address.version == network.address.version and ip.address in network.network


def _contains_cidr(network: CIDR, other: CIDR) -> bool:
    same = network.address.version == other.address.version
    return same and network.bits <= other.bits and other.network.network_address in network.network


def _is_global_unicast(ip: IP) -> bool:
    address = ip.address
    if str(address) == "255.255.255.255" or address.is_unspecified or address.is_loopback:
        return False
    return not (address.is_multicast or address.is_link_local)


def _is_link_local_multicast(ip: IP) -> bool:
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in ipaddress.ip_network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 0x02


def _url(text: str) -> URL:
    if problem := url_problem(text):
        raise CelError(f"URL parse error during conversion from string: {problem}")
    return URL(text)


def url_problem(text: str) -> str:
    """Why Go would not take a text for an absolute URL, or a path; empty if it would."""
    if not text:
        return 'parse "": empty url'
    if re.search(r"[\x00-\x1f\x7f]", text):
        return f'parse "{text}": net/url: invalid control character in URL'
    if text.startswith("/"):
        return ""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        return f'parse "{text}": invalid URI for request'
    try:
        _ = urlsplit(text).port
    except ValueError:
        return f'parse "{text}": invalid port after host'
    rest = text.partition(":")[2]
    return "" if rest.startswith("/") else f'parse "{text}": invalid URI for request'


def _port(url: URL) -> str:
    port = urlsplit(url.text).port
    return "" if port is None else str(port)


NETWORKS: list[Function] = [
    function(
        "ip", overload(f"(string) -> {_IP}", _ip), overload(f"{_CIDR}.() -> {_IP}", lambda cidr: IP(cidr.address))
    ),
    function("family", overload(f"{_IP}.() -> int", lambda ip: ip.address.version)),
    function("ip.isCanonical", overload("(string) -> bool", lambda text: str(_address(text)) == text)),
    function("isUnspecified", overload(f"{_IP}.() -> bool", lambda ip: ip.address.is_unspecified)),
    function("isLoopback", overload(f"{_IP}.() -> bool", lambda ip: ip.address.is_loopback)),
    function("isLinkLocalMulticast", overload(f"{_IP}.() -> bool", _is_link_local_multicast)),
    function("isLinkLocalUnicast", overload(f"{_IP}.() -> bool", lambda ip: ip.address.is_link_local)),
    function("isGlobalUnicast", overload(f"{_IP}.() -> bool", _is_global_unicast)),
    function("isIP", overload("(string) -> bool", lambda text: _is(_ip, text))),
    function("cidr", overload(f"(string) -> {_CIDR}", _cidr)),
    function(
        "containsIP",
        overload(f"{_CIDR}.(string) -> bool", lambda cidr, text: _contains_ip(cidr, _ip(text))),
        overload(f"{_CIDR}.({_IP}) -> bool", _contains_ip),
    ),
    function(
        "containsCIDR",
        overload(f"{_CIDR}.(string) -> bool", lambda cidr, text: _contains_cidr(cidr, _cidr(text))),
        overload(f"{_CIDR}.({_CIDR}) -> bool", _contains_cidr),
    ),
    function("prefixLength", overload(f"{_CIDR}.() -> int", lambda cidr: cidr.bits)),
    function("masked", overload(f"{_CIDR}.() -> {_CIDR}", lambda cidr: CIDR(cidr.network.network_address, cidr.bits))),
    function("isCIDR", overload("(string) -> bool", lambda text: _is(_cidr, text))),
    function(
        "string",
        overload(f"({_IP}) -> string", lambda ip: str(ip.address)),
        overload(f"({_CIDR}) -> string", lambda cidr: f"{cidr.address}/{cidr.bits}"),
    ),
    function("url", overload(f"(string) -> {_URL}", _url)),
    function("isURL", overload("(string) -> bool", lambda text: not url_problem(text))),
    function("getScheme", overload(f"{_URL}.() -> string", lambda url: urlsplit(url.text).scheme)),
    function("getHost", overload(f"{_URL}.() -> string", lambda url: urlsplit(url.text).netloc.rpartition("@")[2])),
    function("getHostname", overload(f"{_URL}.() -> string", lambda url: urlsplit(url.text).hostname or "")),
    function("getPort", overload(f"{_URL}.() -> string", _port)),
    function(
        "getEscapedPath",
        overload(f"{_URL}.() -> string", lambda url: quote(urlsplit(url.text).path, safe="/%:@!$&'()*+,;=~-._")),
    ),
    function(
        "getQuery",
        overload(
            f"{_URL}.() -> map(string, list(string))",
            lambda url: parse_qs(urlsplit(url.text).query, keep_blank_values=True),
        ),
    ),
]
