"""Launching a real control plane: the same named clusters, commands and files as embedded ones have.

The parts are started in order: etcd and the API server, then what works for it, then whoever plays the fake nodes: kwok
if it is there, else our own agent. The cluster is ready when its nodes are. It ends by a signal, and when one of its
parts ends; then the cluster's directory stays, with the logs, until `ghostfleet down` or the next start.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive import nodes
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.devices import driver_of
from ghostfleet.drive.interface import ConnectionFailed, Refused
from ghostfleet.kube.arguments import ArgumentError, Arguments, parse_arguments
from ghostfleet.kube.controlplane import ControlPlane, Ports, free_ports
from ghostfleet.kube.processes import PartEnded, Processes
from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER, ProgramsMissing, find_programs
from ghostfleet.server import kubeconfig
from ghostfleet.server.auth import new_token
from ghostfleet.server.instances import Instance, InstanceRecord
from ghostfleet.server.launch import LaunchError, check, forget
from ghostfleet.server.launchconfig import LaunchConfig
from ghostfleet.server.tls import make_certificates
from ghostfleet.stages.catalogue import stage_definition, stage_documents
from ghostfleet.stages.nodes import NodeShape, fake_nodes

__all__ = ["arguments_for", "launch", "programs_for"]

_START_PATIENCE = 90 * SECOND
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_STAGES = "/apis/kwok.x-k8s.io/v1alpha1/stages"
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"

_log = logging.getLogger(__name__)


class _Stopped(Exception):
    """A signal came before the cluster was ready."""


def programs_for(settings: LaunchConfig) -> dict[str, Path]:
    """The programs that a cluster with these settings needs, and kwok if it is there; LaunchError if one is missing."""
    needed = [ETCD, SERVER]
    if "controllers" not in settings.without:
        needed.append(CONTROLLERS)
    if "scheduler" not in settings.without:
        needed.append(SCHEDULER)
    wanted = [] if "stages" in settings.without else [KWOK]
    directory = settings.bin_dir.expanduser() if settings.bin_dir is not None else None
    try:
        return find_programs(needed, wanted, directory=directory)
    except ProgramsMissing as error:
        raise LaunchError(str(error)) from None


def arguments_for(settings: LaunchConfig, programs: Iterable[str]) -> Arguments:
    """What the user wants to be told to the programs that run; LaunchError if that cannot be."""
    try:
        return parse_arguments(settings.component_arg, programs)
    except ArgumentError as error:
        raise LaunchError(f"--component-arg {error}") from None


def launch(settings: LaunchConfig, on_ready: Callable[[], None]) -> None:
    """Run a cluster here until SIGINT or SIGTERM; `on_ready` is called when it can be used."""
    clock = check(settings)
    programs = programs_for(settings)
    arguments = arguments_for(settings, programs)
    instance = Instance(settings.name)
    instance.claim()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        instance.write_pid()
        _Run(settings, instance, clock, programs, arguments).run(on_ready)
    except PartEnded as error:
        for line in error.lines:
            _log.error("%s", line)
        instance.mourn(str(error))
        raise LaunchError(str(error)) from None
    except LaunchError as error:
        instance.mourn(str(error))
        raise
    except BaseException:
        forget(instance)
        raise
    else:
        forget(instance)


class _Run:
    """One cluster from its start to its end."""

    def __init__(
        self,
        settings: LaunchConfig,
        instance: Instance,
        clock: WallClock,
        programs: dict[str, Path],
        arguments: Arguments,
    ) -> None:
        self._settings = settings
        self._instance = instance
        self._clock = clock
        self._programs = programs
        self._stopping = False
        self._processes = Processes(instance.directory / "logs", clock)
        server, *others = free_ports(5)
        self._ports = Ports(settings.port or server, *others)
        self.url = f"https://{settings.address}:{self._ports.server}"
        certificates = make_certificates(instance.directory, [settings.address], clock.now())
        token = new_token()
        self._plane = ControlPlane(
            instance.directory,
            programs,
            self._ports,
            certificates,
            address=settings.address,
            token=token,
            arguments=arguments,
        )
        authority = certificates.authority.read_bytes()
        kubeconfig.write(instance.kubeconfig, kubeconfig.render(settings.name, self.url, token, authority))
        self._connection = Connection(Access(instance.kubeconfig))

    def run(self, on_ready: Callable[[], None]) -> None:
        with self._signals():
            try:
                self._start()
                on_ready()
                self._processes.wait(lambda: self._stopping)
            except _Stopped:
                return
            finally:
                self._connection.close()
                self._processes.stop()

    def _start(self) -> None:
        settings, plane, start = self._settings, self._plane, self._processes.start
        start(plane.etcd())
        start(plane.server())
        self._wait_for("the API server", lambda: self._answer("/readyz") == {"message": "ok"})
        if "scheduler" not in settings.without:
            start(plane.scheduler(settings.scheduler_config))
        if "controllers" not in settings.without:
            start(plane.controllers())
            self._wait_for("the controllers", lambda: self._answer(_ACCOUNT) is not None)
        if "stages" not in settings.without:
            self._start_stages()
        self._add_nodes()
        version = (self._answer("/version") or {}).get("gitVersion", "")
        started = rfc3339(self._clock.now())
        self._instance.publish(
            InstanceRecord(settings.name, os.getpid(), self.url, settings.clock, started, version, settings.runtime)
        )

    def _start_stages(self) -> None:
        self._connection.create(_DEFINITIONS, stage_definition())
        self._wait_for("the definition of stages", lambda: self._answer(_STAGES) is not None)
        if KWOK not in self._programs:
            self._processes.start(self._plane.agent(self._settings.stages))
            return
        for stage in stage_documents(self._settings.stages):
            self._connection.create(_STAGES, stage)
        self._processes.start(self._plane.kwok())

    def _add_nodes(self) -> None:
        settings = self._settings
        shape = NodeShape(
            count=settings.nodes,
            gpus=settings.gpus,
            gpu_product=settings.gpu_product,
            dra=settings.dra,
            fake_taint=False,
        )
        nodes.add(self._connection, fake_nodes(shape), self._processes.check, driver_of(shape))
        if shape.count and "stages" not in settings.without:
            self._wait_for("the nodes", lambda: all(map(_is_ready, self._connection.items("/api/v1/nodes"))))

    def _wait_for(self, what: str, until: Callable[[], bool]) -> None:
        if not self._processes.wait(lambda: self._stopping or until(), _START_PATIENCE):
            raise LaunchError(f"{what} did not get ready in {_START_PATIENCE // SECOND} s; see {self._instance.logs}")
        if self._stopping:
            raise _Stopped

    def _answer(self, path: str) -> Object | None:
        """What the API server says; None if it says nothing good."""
        try:
            answer: Object = self._connection.get(path)
        except (ConnectionFailed, Refused):
            return None
        return answer

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(*_: object) -> None:
            self._stopping = True

        before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
