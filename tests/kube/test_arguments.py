"""Flags of the user's own for the programs of a real control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghostfleet.kube.arguments import ArgumentError, parse_arguments
from ghostfleet.kube.controlplane import ControlPlane, Ports
from ghostfleet.kube.programs import CONTROLLERS, ETCD, SCHEDULER, SERVER
from ghostfleet.server.launchconfig import LaunchConfig, Runtime
from ghostfleet.server.tls import Certificates

RUNNING = (ETCD, SERVER, CONTROLLERS, SCHEDULER)


@pytest.fixture
def plane(tmp_path):
    certificates = Certificates(*(tmp_path / name for name in ("ca.crt", "server.crt", "server.key")))
    programs = {name: Path("/bin") / name for name in RUNNING}

    def make(*given: str) -> ControlPlane:
        arguments = parse_arguments(given, RUNNING)
        return ControlPlane(tmp_path, programs, Ports(1, 2, 3, 4, 5), certificates, token="t", arguments=arguments)

    return make


def test_each_program_gets_the_words_for_it_in_their_order():
    given = [
        "kube-scheduler=--v=4",
        "etcd=--max-txn-ops=9",
        "kube-scheduler=--feature-gates=A=true,B=false",
        "etcd=--debug",
    ]
    assert parse_arguments(given, RUNNING) == {
        "kube-scheduler": ["--v=4", "--feature-gates=A=true,B=false"],
        "etcd": ["--max-txn-ops=9", "--debug"],
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("kube-scheduler", "expected PROGRAM=--FLAG=VALUE, like kube-scheduler=--kube-api-qps=5000"),
        ("--kube-api-qps=5000", "expected PROGRAM=--FLAG=VALUE"),
        ("kube-scheduler=kube-api-qps=5000", "expected PROGRAM=--FLAG=VALUE"),
        ("kube-scheduler=--kube-api-qps 5000", "expected PROGRAM=--FLAG=VALUE"),
        ("kube-scheduler=--", "expected PROGRAM=--FLAG=VALUE"),
        (
            "scheduler=--v=4",
            "there is no scheduler; expected one of etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok",
        ),
        (
            "kwok=--v=4",
            "kwok is not part of this cluster; it has etcd, kube-apiserver, kube-controller-manager, kube-scheduler",
        ),
    ],
)
def test_what_cannot_be_told_to_a_program_is_refused_with_what_would_be_right(given, said):
    with pytest.raises(ArgumentError) as caught:
        parse_arguments([given], RUNNING)
    assert str(caught.value).startswith(f"{given!r}: {said}")


def test_a_flag_that_is_given_comes_last_and_takes_the_place_of_ours(plane):
    ours = plane().scheduler().command
    told = plane("kube-scheduler=--leader-elect=true", "kube-scheduler=--v=4").scheduler().command
    assert told[-2:] == ["--leader-elect=true", "--v=4"]
    assert told[:-2] == [word for word in ours if word != "--leader-elect=false"]


def test_other_programs_are_told_what_they_always_are(plane):
    given = plane("kube-scheduler=--v=4")
    assert given.controllers() == plane().controllers()
    assert given.etcd() == plane().etcd()


def test_a_cluster_in_the_background_is_asked_for_with_the_same_arguments():
    words = LaunchConfig(runtime=Runtime.KUBERNETES, component_arg=("etcd=--debug", "kube-scheduler=--v=4")).arguments()
    assert words[-4:] == ["--component-arg", "etcd=--debug", "--component-arg", "kube-scheduler=--v=4"]


def test_up_refuses_them_in_one_line(shell, tmp_path):
    for name in RUNNING:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    options = ["--runtime", "kubernetes", "--bin-dir", str(tmp_path), "--disable", "scheduler"]
    said = shell("up", *options, "--component-arg", "kube-scheduler=--v=4", code=2)
    assert said.startswith(
        "ghostfleet: --component-arg 'kube-scheduler=--v=4': kube-scheduler is not part of this cluster"
    )
    assert said.count("\n") == 1
