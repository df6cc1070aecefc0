from __future__ import annotations

import ssl

import pytest

from ghostfleet.core.clock import EPOCH, SECOND, WallClock
from ghostfleet.server.tls import make_certificates

x509 = pytest.importorskip("cryptography.x509")

DAY = 86400 * SECOND
LOCAL_NAMES = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "10.96.0.1",
)


def shake_hands(server: ssl.SSLObject, client: ssl.SSLObject, pipes: list[tuple[ssl.MemoryBIO, ssl.MemoryBIO]]) -> None:
    """Both sides of a handshake in turn, carrying what one writes to the other."""
    pending = [client, server]
    for _ in range(10):
        for side in list(pending):
            try:
                side.do_handshake()
                pending.remove(side)
            except ssl.SSLWantReadError:
                pass
            for written, read in pipes:
                read.write(written.read())
        if not pending:
            return
    raise AssertionError("the handshake did not end")


def connect(files, host: str) -> None:
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(files.certificate, files.key)
    client_context = ssl.create_default_context(cafile=files.authority)
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    bios = [ssl.MemoryBIO() for _ in range(4)]
    server = server_context.wrap_bio(bios[0], bios[1], server_side=True)
    client = client_context.wrap_bio(bios[2], bios[3], server_hostname=host)
    shake_hands(server, client, [(bios[1], bios[2]), (bios[3], bios[0])])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("tls"), ["lab.example", "192.0.2.7", "[2001:db8::1]"], _now())


def _now() -> int:
    return WallClock().now()


@pytest.mark.parametrize("host", [*LOCAL_NAMES, "lab.example", "192.0.2.7", "2001:db8::1"])
def test_a_strict_client_trusts_the_server_under_each_of_its_names(files, host):
    connect(files, host)


def test_a_client_does_not_trust_it_under_another_name(files):
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(files, "elsewhere.example")


def test_a_client_of_another_cluster_does_not_trust_it(files, tmp_path):
    other = make_certificates(tmp_path, [], _now())
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(type(files)(other.authority, files.certificate, files.key), "localhost")


def test_validity_is_counted_from_the_given_time(tmp_path):
    files = make_certificates(tmp_path, [], EPOCH)
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    assert certificate.not_valid_before_utc.timestamp() == EPOCH // SECOND - 3600
    assert certificate.not_valid_after_utc.timestamp() == (EPOCH + 365 * DAY) // SECOND


def test_an_outlived_certificate_is_refused(tmp_path):
    files = make_certificates(tmp_path, [], _now() - 400 * DAY)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        connect(files, "localhost")


def test_only_the_three_files_are_written_and_only_for_the_owner(files):
    directory = files.key.parent
    assert sorted(path.name for path in directory.iterdir()) == ["ca.crt", "server.crt", "server.key"]
    assert files.key.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE KEY" not in files.authority.read_bytes() + files.certificate.read_bytes()
