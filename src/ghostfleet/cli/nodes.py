"""`ghostfleet nodes`: add, scale, remove, fail and recover the fake nodes of a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count as counting
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.bars import shown
from ghostfleet.cli.completion import dra_profiles
from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_plainly
from ghostfleet.cli.groups import taking
from ghostfleet.cli.output import WRONG_USAGE, fail
from ghostfleet.cli.workloads import Quiet

if TYPE_CHECKING:
    from ghostfleet.drive.connection import Connection
    from ghostfleet.stages.nodes import NodeShape

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Add, scale, remove, fail and recover fake nodes.")


def _shape(
    prefix: Annotated[str, typer.Option(help="Names are this and a number.")] = "kwok-node-",
    cpu: Annotated[str, typer.Option(help="CPUs of a node.")] = "32",
    memory: Annotated[str, typer.Option(help="Memory of a node.")] = "256Gi",
    pods: Annotated[str, typer.Option(help="Pods a node may have.")] = "110",
    gpus: Annotated[int, typer.Option(min=0, help="GPUs of a node.")] = 0,
    gpu_resource: Annotated[str, typer.Option(help="What a GPU is called in requests.")] = "nvidia.com/gpu",
    gpu_product: Annotated[
        str, typer.Option(help="Which GPU it is; its labels are those that NVIDIA's discovery sets.")
    ] = "NVIDIA-H100-80GB-HBM3",
    dra: Annotated[
        str,
        typer.Option(
            metavar="PROFILE",
            autocompletion=dra_profiles,
            help="Offer the GPUs as DRA devices (8 a node unless --gpus says): nvidia, kwok, example, or a file.",
        ),
    ] = "",
    zone: Annotated[list[str] | None, typer.Option(help="Zone; given several times, nodes are dealt out.")] = None,
    rack: Annotated[list[str] | None, typer.Option(help="Rack; given several times, nodes are dealt out.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Label key=value; may be given several times.")] = None,
    taint: Annotated[list[str] | None, typer.Option(help="Taint key=value:Effect; several times too.")] = None,
    kwok_taint: Annotated[
        bool, typer.Option("--kwok-taint", help="Add KWOK's taint, which pods must tolerate.")
    ] = False,
) -> NodeShape:
    """What a node is to be like."""
    from ghostfleet.core.quantity import parse
    from ghostfleet.stages.dradrivers import find_profile
    from ghostfleet.stages.nodes import NodeShape, parse_taint

    try:
        for name, amount in (("--cpu", cpu), ("--memory", memory), ("--pods", pods)):
            try:
                parse(amount)
            except ValueError as error:
                raise ValueError(f"{name} {amount}: {error}") from None
        if dra:
            find_profile(dra).classes()
        return NodeShape(
            prefix=prefix,
            cpu=cpu,
            memory=memory,
            pods=pods,
            gpus=gpus,
            gpu_resource=gpu_resource,
            gpu_product=gpu_product,
            dra=dra,
            zones=zone or (),
            racks=rack or (),
            labels=dict(_pair(text) for text in label or ()),
            taints=[parse_taint(text) for text in taint or ()],
            fake_taint=kwok_taint,
        )
    except ValueError as error:
        fail(str(error), WRONG_USAGE)


@app.command("add")
@taking(shape=_shape)
def add(
    *,
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 1,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="A Node manifest to make them from.")] = None,
    shape: NodeShape,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Add nodes."""
    from ghostfleet.drive import nodes
    from ghostfleet.drive.devices import driver_of
    from ghostfleet.stages.nodes import fake_nodes

    template = _template(file) if file is not None else None
    with connected_plainly(cluster, kubeconfig, context) as connection:
        there = nodes.numbers(connection, shape.prefix if template is None else _stem(template))
        first = there[-1] + 1 if there else 0
        if template is None:
            made = fake_nodes(replace(shape, count=count, first=first))
        else:
            made = nodes.from_template(template, count, first)
        with _counted("adding nodes", count, quiet) as step:
            nodes.add(connection, made, step, driver_of(shape))
    if not quiet:
        typer.echo(f"Added {count} node{'s' if count > 1 else ''}.")


@app.command("scale")
@taking(shape=_shape)
def scale(
    count: Annotated[int, typer.Option(min=0, help="How many there are to be.")],
    shape: NodeShape,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Bring the nodes of one prefix to a number."""
    from ghostfleet.drive import nodes

    with connected_plainly(cluster, kubeconfig, context) as connection:
        there = nodes.numbers(connection, shape.prefix)
        with _counted("scaling nodes", abs(count - len(there)), quiet) as step:
            change = nodes.scale(connection, replace(shape, count=count), there, step)
    if not quiet:
        typer.echo(f"{count} nodes now ({change:+}).")


@app.command("remove")
def remove(
    names: Annotated[list[str] | None, typer.Argument(help="Names of nodes.")] = None,
    prefix: Annotated[str, typer.Option(help="All nodes whose names are this and a number.")] = "",
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Remove nodes by name, or all of one prefix."""
    from ghostfleet.drive import nodes

    if not names and not prefix:
        fail("say which nodes: by name, or all of one --prefix", WRONG_USAGE)
    with connected_plainly(cluster, kubeconfig, context) as connection:
        chosen = [
            *(names or ()),
            *(f"{prefix}{number}" for number in (nodes.numbers(connection, prefix) if prefix else ())),
        ]
        with _counted("removing nodes", len(chosen), quiet) as step:
            count = nodes.remove(connection, chosen, step)
    if not quiet:
        typer.echo(f"Removed {count} nodes.")


@app.command("fail")
def fail_nodes(
    names: Annotated[list[str], typer.Argument(help="Names of nodes.")],
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Let nodes fall silent: they go NotReady, are tainted, and their pods are evicted in time."""
    _mark(names, True, cluster, kubeconfig, context, quiet)


@app.command("recover")
def recover_nodes(
    names: Annotated[list[str], typer.Argument(help="Names of nodes.")],
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Let nodes that failed go on."""
    _mark(names, False, cluster, kubeconfig, context, quiet)


@app.command("taint-device")
def taint_device(
    node: Annotated[str, typer.Argument(help="Name of the node.")],
    device: Annotated[str, typer.Argument(help="Name of the device; `ghostfleet devices` lists them.")],
    taint: Annotated[
        str, typer.Option(help="Taint key=value:NoSchedule, or :NoExecute to evict pods that use it as well.")
    ] = "ghostfleet.dev/unhealthy=true:NoSchedule",
    rule: Annotated[bool, typer.Option("--rule", help="By a DeviceTaintRule, and not in the slice.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the taint away again.")] = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Taint a DRA device: only claims that tolerate the taint get it, and with NoExecute keep it."""
    from ghostfleet.drive import devices
    from ghostfleet.stages.nodes import parse_taint

    try:
        parsed = parse_taint(taint)
    except ValueError as error:
        fail(f"--taint: {error}", WRONG_USAGE)
    if parsed["effect"] not in ("NoSchedule", "NoExecute"):
        fail(f"--taint {taint}: devices know the effects NoSchedule and NoExecute only", WRONG_USAGE)
    with _device_of(cluster, kubeconfig, context) as connection:
        if not rule:
            (devices.untaint if remove else devices.taint)(connection, node, device, parsed)
        elif remove:
            devices.untaint_by_rule(connection, node, device)
        else:
            devices.taint_by_rule(connection, node, device, parsed)
    if not quiet:
        typer.echo(f"Device {device} of {node} is {'not tainted any more' if remove else 'tainted'}.")


@app.command("fail-device")
def fail_device(
    node: Annotated[str, typer.Argument(help="Name of the node.")],
    device: Annotated[str, typer.Argument(help="Name of the device; `ghostfleet devices` lists them.")],
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Let a DRA device fail: its driver does not publish it any more."""
    from ghostfleet.drive import devices

    with _device_of(cluster, kubeconfig, context) as connection:
        devices.withdraw(connection, node, device)
    if not quiet:
        typer.echo(f"Device {device} of {node} has failed.")


@contextmanager
def _device_of(cluster: str, kubeconfig: Path | None, context: str) -> Iterator[Connection]:
    """A connection, on which a device that is not there is wrong usage."""
    with connected_plainly(cluster, kubeconfig, context) as connection:
        try:
            yield connection
        except LookupError as error:
            fail(str(error), WRONG_USAGE)


def _mark(names: list[str], failed: bool, cluster: str, kubeconfig: Path | None, context: str, quiet: bool) -> None:
    from ghostfleet.drive import nodes

    with connected_plainly(cluster, kubeconfig, context) as connection:
        for name in names:
            nodes.mark_failed(connection, name, failed)
            if not quiet:
                typer.echo(f"Node {name} {'has failed' if failed else 'goes on'}.")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ValueError(f"--label {text!r}: expected key=value")
    return key, value


def _template(file: Path) -> dict[str, Any]:
    from ghostfleet.core.manifests import ManifestError, load_documents

    try:
        documents = load_documents(file.read_text(), source=str(file))
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", WRONG_USAGE)
    except ManifestError as error:
        fail(str(error), WRONG_USAGE)
    found = [document.object for document in documents if document.object.get("kind") == "Node"]
    if len(found) != 1:
        fail(f"{file}: expected one Node, found {len(found)}", WRONG_USAGE)
    return found[0]


def _stem(template: dict[str, Any]) -> str:
    metadata = template.get("metadata") or {}
    return metadata.get("generateName") or f"{metadata.get('name', '')}-"


@contextmanager
def _counted(what: str, total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """What to call for each node that is done."""
    done = counting(1)
    with shown(quiet) as progress:
        progress.begin(what, total)
        yield lambda: progress.advance(next(done))
