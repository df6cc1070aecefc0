"""TLS: a certificate authority made for one cluster, and the server's certificate signed by it.

The *authority* is a self-signed root whose private key is thrown away once it has signed the server's certificate, so
nothing else can ever be signed in its name; clients trust it through the kubeconfig. The server's certificate is valid
for the names a client on this machine or a pod would use. The `cryptography` package is imported
only when certificates are made, so that commands that make none start quickly.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ghostfleet.server.secretfile import write_secret

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = ["Certificates", "make_certificates"]

_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1", "10.96.0.1")
# Clocks of client and server may differ a little.
_BACKDATED = timedelta(hours=1)
_AUTHORITY_LIFE = timedelta(days=3650)
_SERVER_LIFE = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where the files of a cluster's TLS are."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(directory: Path, hosts: Iterable[str], now: int) -> Certificates:
    """Write `ca.crt`, `server.crt` and `server.key` for a server reached at `hosts` (names or addresses).

    `now` is in microseconds since the epoch; the certificates are valid from an hour before it.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    at = datetime.fromtimestamp(now / 1_000_000, UTC)
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _authority(authority_key, at)
    server = _server(server_key, authority, authority_key, hosts, at)
    pem = serialization.Encoding.PEM
    key_text = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files = Certificates(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    write_secret(files.key, key_text)
    write_secret(files.certificate, server.public_bytes(pem))
    write_secret(files.authority, authority.public_bytes(pem))
    return files


def _authority(key: EllipticCurvePrivateKey, at: datetime) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    name = _common_name("ghostfleet-ca")
    return (
        _certificate(name, name, key, at, _AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
    hosts: Iterable[str],
    at: datetime,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    usage = x509.oid.ExtendedKeyUsageOID
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _certificate(_common_name("ghostfleet"), authority.subject, key, at, _SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage.SERVER_AUTH, usage.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_alternative_names(hosts)), critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, at: datetime, life: timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - _BACKDATED)
        .not_valid_after(at + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _common_name(text: str) -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(hosts: Iterable[str]) -> list[x509.GeneralName]:
    return [_alternative_name(host) for host in dict.fromkeys((*_NAMES, *(_bare(host) for host in hosts)))]


def _bare(host: str) -> str:
    """An IPv6 address without the brackets it has in URLs."""
    return host.removeprefix("[").removesuffix("]")


def _alternative_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        # Certificates hold names in ASCII only.
        return x509.DNSName(host.encode("idna").decode())
