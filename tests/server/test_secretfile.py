from __future__ import annotations

import pytest

from ghostfleet.server.secretfile import write_secret


def test_a_secret_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "deep" / "er" / "key"
    write_secret(path, b"secret")
    assert path.read_bytes() == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_file_that_was_open_to_others_is_closed(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_secret(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_secret(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_nothing_is_left_behind_when_it_fails(tmp_path):
    (tmp_path / "key").mkdir()
    with pytest.raises(OSError):
        write_secret(tmp_path / "key", b"secret")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
