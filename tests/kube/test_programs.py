"""Where the programs of a real control plane are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghostfleet.kube.programs import ETCD, KWOK, SERVER, ProgramsMissing, find_programs


def put(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
    return directory


def test_the_named_directory_comes_first_then_the_cache_then_assets_then_the_path(tmp_path):
    environment = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "KUBEBUILDER_ASSETS": str(put(tmp_path / "assets", "a", "b", "c")),
        "PATH": str(put(tmp_path / "path", "a", "b", "c", "d")),
    }
    cache = put(tmp_path / "cache" / "ghostfleet" / "kube" / "v1.36.3", "a", "b")
    named = put(tmp_path / "named", "a")
    found = find_programs("abcd", directory=named, environment=environment)
    assert {name: path.parent for name, path in found.items()} == {
        "a": named,
        "b": cache,
        "c": tmp_path / "assets",
        "d": tmp_path / "path",
    }


def test_of_several_versions_in_the_cache_the_newest_is_used(tmp_path):
    for version in ("v1.9.12", "v1.36.3", "v1.36.10"):
        put(tmp_path / "ghostfleet" / "kube" / version, ETCD)
    found = find_programs([ETCD], environment={"XDG_CACHE_HOME": str(tmp_path)})
    assert found[ETCD].parent.name == "v1.36.10"


def test_what_is_only_wanted_may_be_missing(tmp_path):
    directory = put(tmp_path / "bin", ETCD)
    found = find_programs([ETCD], [KWOK], directory=directory, environment={"XDG_CACHE_HOME": str(tmp_path)})
    assert list(found) == [ETCD]


def test_the_message_names_what_is_missing_and_what_to_do(tmp_path):
    directory = put(tmp_path / "bin", ETCD)
    (directory / SERVER).write_text("not a program")
    with pytest.raises(ProgramsMissing) as caught:
        find_programs(
            [ETCD, SERVER, "kube-scheduler"], directory=directory, environment={"XDG_CACHE_HOME": str(tmp_path)}
        )
    message = str(caught.value)
    assert message.startswith("cannot find kube-apiserver, kube-scheduler (looked in ")
    assert "make kube" in message
    assert "--bin-dir" in message


def test_up_says_in_one_line_which_programs_are_missing(shell, tmp_path):
    shell.environment |= {"XDG_CACHE_HOME": str(tmp_path), "KUBEBUILDER_ASSETS": "", "PATH": "/nowhere"}
    try:
        said = shell("up", "--runtime", "kubernetes", code=2)
    finally:
        import os

        shell.environment |= {name: os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "PATH")}
    assert said.startswith("ghostfleet: cannot find etcd, kube-apiserver, kube-controller-manager, kube-scheduler (")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--runtime", "kubernetes", "--clock", "scaled:2"], "--clock cannot be used with --runtime kubernetes"),
        (["--runtime", "kubernetes", "--no-tls"], "--no-tls cannot be used with --runtime kubernetes"),
        (["--runtime", "kubernetes", "--seed", "1"], "--seed cannot be used with --runtime kubernetes"),
        (["--bin-dir", "x"], "add --runtime kubernetes"),
        (["--component-arg", "kube-scheduler=--v=4"], "add --runtime kubernetes"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(shell, options, said):
    assert said in shell("up", *options, code=2)
