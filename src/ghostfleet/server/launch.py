"""Launching: a named cluster from its settings to its end.

`launch` runs a cluster in this process until a signal comes; `launch_detached` runs the same in a process of its own
and waits until it is ready; `end` stops one. Everything that can be refused is refused before anything is started.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO

from ghostfleet.cluster import PARTS
from ghostfleet.cluster.config import KAI
from ghostfleet.core.clock import SECOND, WallClock, parse_clock
from ghostfleet.core.collector import pause_collector, relax_collector
from ghostfleet.core.flags import flags_of
from ghostfleet.core.names import is_dns1123_label
from ghostfleet.core.profile import profile_names
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.server.instances import Instance, InstanceError, InstanceRecord
from ghostfleet.server.launchconfig import LaunchConfig, Runtime
from ghostfleet.stages.commands import COMMANDS

__all__ = ["LaunchError", "check", "end", "forget", "launch", "launch_detached", "missing_speedups"]

#: How long a start may take.
_START_PATIENCE = {Runtime.EMBEDDED: 20 * SECOND, Runtime.KUBERNETES: 300 * SECOND}
_END_PATIENCE = 5 * SECOND
_LOOK_AGAIN = SECOND // 50


class LaunchError(Exception):
    """A cluster that cannot be started; the message says why and what to do."""


def check(settings: LaunchConfig) -> WallClock:
    """Refuse settings that cannot work or are not safe; answers the clock they ask for."""
    try:
        clock = parse_clock(settings.clock)
    except ValueError as error:
        raise LaunchError(f"--clock: {error}") from None
    if not isinstance(clock, WallClock):
        raise LaunchError("--clock: a served cluster needs wall or scaled:N; virtual time is for runs in one process")
    if not settings.tls and not _is_loopback(settings.address):
        raise LaunchError(
            f"--address {settings.address} can be reached by others, and without TLS they could read the token; "
            "leave out --no-tls, or leave the address at 127.0.0.1"
        )
    if settings.runtime is Runtime.KUBERNETES:
        _check_real(settings)
    elif settings.bin_dir:
        raise LaunchError("--bin-dir is where the programs of a real control plane are; add --runtime kubernetes")
    elif settings.component_arg:
        raise LaunchError("--component-arg is for the programs of a real control plane; add --runtime kubernetes")
    unknown = sorted(settings.without - set(PARTS))
    if unknown:
        raise LaunchError(f"--disable {unknown[0]}: expected {', '.join(PARTS)}")
    for project in settings.projects:
        if problems := is_dns1123_label(f"runai-{project}"):
            raise LaunchError(f"--project {project}: its namespace runai-{project} cannot exist: {problems[0]}")
    if settings.projects and "runai" in settings.without:
        raise LaunchError("--project is for Run:ai's kinds, which --disable runai leaves out")
    if settings.commands not in ("", *COMMANDS):
        raise LaunchError(f"--commands {settings.commands}: expected one of {', '.join(COMMANDS)}")
    if settings.profile not in profile_names():
        raise LaunchError(f"--profile {settings.profile}: expected one of {', '.join(profile_names())}")
    if settings.dra:
        _check_driver(settings.dra)
    if settings.dispatcher:
        _check_dispatcher(settings.dispatcher)
    _check_schedulers(settings)
    return clock


def _check_schedulers(settings: LaunchConfig) -> None:
    """Refuse schedulers that are not there, and options of KAI that are wrong or have no KAI."""
    if settings.runtime is Runtime.KUBERNETES:
        return
    options = [each for each in flags_of(LaunchConfig) if each.name.startswith("kai_")]
    given = [each.option for each in options if getattr(settings, each.name) != each.default]
    if settings.recreate_bare_pods:
        given.append("--recreate-bare-pods")
    try:
        if given or KAI in settings.schedulers:
            from ghostfleet.cluster.kai import kai_configuration

            kai_configuration(settings)
        for place in settings.schedulers:
            if place != KAI:
                from ghostfleet.schedulers.framework.own import load_scheduler

                load_scheduler(place)
        if settings.scheduler_config is not None:
            from ghostfleet.schedulers.kube import load_configuration

            load_configuration(settings.scheduler_config.read_bytes(), str(settings.scheduler_config))
    except (ValueError, OSError) as error:
        raise LaunchError(str(error)) from None
    if given and KAI not in settings.schedulers:
        raise LaunchError(f"{given[0]} is for KAI; add --scheduler kai")


def _check_driver(profile: str) -> None:
    from ghostfleet.stages.dradrivers import find_profile

    try:
        find_profile(profile).classes()
    except ValueError as error:
        raise LaunchError(f"--dra: {error}") from None


def _check_dispatcher(dispatcher: str) -> None:
    from ghostfleet.dispatchers.mcad.profiles import load_dispatcher_profile

    try:
        load_dispatcher_profile(dispatcher)
    except ValueError as error:
        raise LaunchError(f"--dispatcher: {error}") from None


#: What is about simulated parts, and cannot be asked of real ones.
_SIMULATED = (
    *("clock", "tls", "seed", "profile", "commands", "schedulers", "dispatcher", "projects"),
    *("kai_profile", "kai_policy", "kai_config", "kai_queue_label", "recreate_bare_pods"),
)


def _check_real(settings: LaunchConfig) -> None:
    for each in flags_of(LaunchConfig):
        if each.name in _SIMULATED and getattr(settings, each.name) != each.default:
            option = "--no-tls" if each.name == "tls" else each.option
            raise LaunchError(f"{option} cannot be used with --runtime kubernetes: real programs run as they are")


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def missing_speedups() -> list[str]:
    """Packages of the extra `fast` that are not installed."""
    return [name for name in ("uvloop", "httptools") if find_spec(name) is None]


def launch(settings: LaunchConfig, on_ready: Callable[[], None]) -> None:
    """Run a cluster here until SIGINT or SIGTERM; `on_ready` is called when it answers."""
    clock = check(settings)
    instance = Instance(settings.name)
    instance.claim()
    try:
        instance.write_pid()
        _run(settings, instance, clock, on_ready)
    finally:
        forget(instance)


def _run(settings: LaunchConfig, instance: Instance, clock: WallClock, on_ready: Callable[[], None]) -> None:
    pause_collector()
    from ghostfleet.api.builtin import VERSION
    from ghostfleet.cluster import Cluster
    from ghostfleet.server import kubeconfig
    from ghostfleet.server.app import App
    from ghostfleet.server.auth import Authenticator, new_token
    from ghostfleet.server.serve import BindError, HttpServer
    from ghostfleet.server.tls import make_certificates

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    certificates = make_certificates(instance.directory, [settings.address], clock.now()) if settings.tls else None
    token = new_token()
    try:
        cluster = Cluster(clock, settings, seed=settings.seed or secrets.token_hex(8))
    except (ValueError, OSError) as error:
        raise LaunchError(str(error)) from error
    tls = (certificates.certificate, certificates.key) if certificates is not None else None
    try:
        server = HttpServer(
            App(cluster.api, Authenticator(token), about=cluster.about),
            address=settings.address,
            port=settings.port,
            tls=tls,
            clock=clock,
        )
    except BindError as error:
        raise LaunchError(f"{error}; give another with --port, or --port 0 for a free one") from error
    cluster.announce(settings.address, server.port)
    authority = certificates.authority.read_bytes() if certificates is not None else None
    kubeconfig.write(instance.kubeconfig, kubeconfig.render(settings.name, server.url, token, authority))

    def ready(url: str) -> None:
        relax_collector()
        started = rfc3339(clock.now())
        instance.publish(InstanceRecord(settings.name, os.getpid(), url, settings.clock, started, VERSION))
        on_ready()

    server.run(ready)


def launch_detached(settings: LaunchConfig) -> None:
    """Run a cluster in a process of its own; returns when it is ready."""
    check(settings)
    instance = Instance(settings.name)
    instance.claim()  # tells now if it runs already; the child claims it again
    instance.unclaim()
    # A child that fails clears its directory away, the log included; what it said is read from the open file.
    with instance.log.open("w+b") as log:
        instance.log.chmod(0o600)
        child = _spawn(settings, log)
        try:
            _await_record(instance, settings, child, log)
        except BaseException:
            # Whoever breaks off the wait, be it by Ctrl-C, does not want the cluster any more.
            child.terminate()
            child.wait()
            raise


def _await_record(instance: Instance, settings: LaunchConfig, child: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    clock = WallClock()
    deadline = clock.now() + _START_PATIENCE[settings.runtime]
    while instance.record() is None:
        if child.poll() is not None:
            raise LaunchError(f"cluster {settings.name} did not start: {_last_words(log)}")
        if clock.now() > deadline:
            raise LaunchError(f"cluster {settings.name} did not get ready in time: {_last_words(log)}")
        clock.run(clock.now() + _LOOK_AGAIN)


def _spawn(settings: LaunchConfig, log: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ghostfleet", "up", settings.name, "--quiet", *settings.arguments()]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    text = log.read().decode(errors="replace").strip()
    return text.splitlines()[-1].removeprefix("ghostfleet: ") if text else "it said nothing"


def end(instance: Instance) -> bool:
    """Stop a cluster and clear away its files; answers whether it was running."""
    was_running = instance.running
    clock = WallClock()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not instance.running:
            break
        instance.signal(number)
        deadline = clock.now() + _END_PATIENCE
        while instance.running and clock.now() < deadline:
            clock.run(clock.now() + _LOOK_AGAIN)
    if instance.running:
        raise InstanceError(f"cluster {instance.name} does not end; its process holds {instance.directory / 'lock'}")
    forget(instance)
    return was_running


def forget(instance: Instance) -> None:
    """Remove a cluster's files, and its context from the user's kubeconfig if it was merged there."""
    from ghostfleet.server import kubeconfig

    with contextlib.suppress(kubeconfig.KubeconfigError, OSError):
        kubeconfig.remove(kubeconfig.default_path(os.environ), instance.name)
    instance.release()
