"""`ghostfleet nodes`: add, scale, remove, fail and recover the fake nodes of a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ghostfleet.cli.output import FAILED, WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.drive.connection import Connection
    from ghostfleet.stages.nodes import NodeShape

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Add, scale, remove, fail and recover fake nodes.")

ClusterName = Annotated[str, typer.Option("--cluster", help="Name of a cluster that `ghostfleet up` started.")]
Kubeconfig = Annotated[Path | None, typer.Option(help="Any other cluster, by kubeconfig, instead of --cluster.")]
Context = Annotated[str, typer.Option(help="Context in that kubeconfig; by default the current one.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Prefix = Annotated[str, typer.Option(help="Names are this and a number.")]
Cpu = Annotated[str, typer.Option(help="CPUs of a node.")]
Memory = Annotated[str, typer.Option(help="Memory of a node.")]
Pods = Annotated[str, typer.Option(help="Pods a node may have.")]
Gpus = Annotated[int, typer.Option(min=0, help="GPUs of a node.")]
GpuResource = Annotated[str, typer.Option(help="What a GPU is called in requests.")]
GpuProduct = Annotated[str, typer.Option(help="Which GPU it is; its labels are those that NVIDIA's discovery sets.")]
Zones = Annotated[list[str] | None, typer.Option("--zone", help="Zone; given several times, nodes are dealt out.")]
Racks = Annotated[list[str] | None, typer.Option("--rack", help="Rack; given several times, nodes are dealt out.")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="Label key=value; may be given several times.")]
Taints = Annotated[list[str] | None, typer.Option("--taint", help="Taint key=value:Effect; several times too.")]
KwokTaint = Annotated[bool, typer.Option("--kwok-taint", help="Add KWOK's taint, which pods must tolerate.")]


@app.command("add")
def add(
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 1,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="A Node manifest to make them from.")] = None,
    prefix: Prefix = "kwok-node-",
    cpu: Cpu = "32",
    memory: Memory = "256Gi",
    pods: Pods = "110",
    gpus: Gpus = 0,
    gpu_resource: GpuResource = "nvidia.com/gpu",
    gpu_product: GpuProduct = "NVIDIA-H100-80GB-HBM3",
    zone: Zones = None,
    rack: Racks = None,
    label: Labels = None,
    taint: Taints = None,
    kwok_taint: KwokTaint = False,
    cluster: ClusterName = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Add nodes."""
    from ghostfleet.drive import nodes
    from ghostfleet.stages.nodes import fake_nodes

    shape = _shape(
        count, prefix, cpu, memory, pods, gpus, gpu_resource, gpu_product, zone, rack, label, taint, kwok_taint
    )
    template = _template(file) if file is not None else None
    with _connected(cluster, kubeconfig, context) as connection:
        stem = prefix if template is None else _stem(template)
        there = nodes.numbers(connection, stem)
        first = there[-1] + 1 if there else 0
        made = fake_nodes(_from(shape, first)) if template is None else nodes.from_template(template, count, first)
        with _progress("adding nodes", count, quiet) as step:
            nodes.add(connection, made, step)
    if not quiet:
        typer.echo(f"Added {count} node{'s' if count > 1 else ''}.")


@app.command("scale")
def scale(
    count: Annotated[int, typer.Option(min=0, help="How many there are to be.")],
    prefix: Prefix = "kwok-node-",
    cpu: Cpu = "32",
    memory: Memory = "256Gi",
    pods: Pods = "110",
    gpus: Gpus = 0,
    gpu_resource: GpuResource = "nvidia.com/gpu",
    gpu_product: GpuProduct = "NVIDIA-H100-80GB-HBM3",
    zone: Zones = None,
    rack: Racks = None,
    label: Labels = None,
    taint: Taints = None,
    kwok_taint: KwokTaint = False,
    cluster: ClusterName = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Bring the nodes of one prefix to a number."""
    from ghostfleet.drive import nodes

    shape = _shape(
        count, prefix, cpu, memory, pods, gpus, gpu_resource, gpu_product, zone, rack, label, taint, kwok_taint
    )
    with _connected(cluster, kubeconfig, context) as connection, _progress("scaling nodes", None, quiet) as step:
        change = nodes.scale(connection, shape, step)
    if not quiet:
        typer.echo(f"{count} nodes now ({change:+}).")


@app.command("remove")
def remove(
    names: Annotated[list[str] | None, typer.Argument(help="Names of nodes.")] = None,
    prefix: Annotated[str, typer.Option(help="All nodes whose names are this and a number.")] = "",
    cluster: ClusterName = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Remove nodes by name, or all of one prefix."""
    from ghostfleet.drive import nodes

    if not names and not prefix:
        fail("say which nodes: by name, or all of one --prefix", WRONG_USAGE)
    with _connected(cluster, kubeconfig, context) as connection:
        chosen = [
            *(names or ()),
            *(f"{prefix}{number}" for number in (nodes.numbers(connection, prefix) if prefix else ())),
        ]
        with _progress("removing nodes", len(chosen), quiet) as step:
            count = nodes.remove(connection, chosen, step)
    if not quiet:
        typer.echo(f"Removed {count} nodes.")


@app.command("fail")
def fail_nodes(
    names: Annotated[list[str], typer.Argument(help="Names of nodes.")],
    cluster: ClusterName = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Let nodes fall silent: they go NotReady, are tainted, and their pods are evicted in time."""
    _mark(names, True, cluster, kubeconfig, context, quiet)


@app.command("recover")
def recover_nodes(
    names: Annotated[list[str], typer.Argument(help="Names of nodes.")],
    cluster: ClusterName = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    quiet: Quiet = False,
) -> None:
    """Let nodes that failed go on."""
    _mark(names, False, cluster, kubeconfig, context, quiet)


def _mark(names: list[str], failed: bool, cluster: str, kubeconfig: Path | None, context: str, quiet: bool) -> None:
    from ghostfleet.drive import nodes

    with _connected(cluster, kubeconfig, context) as connection:
        for name in names:
            nodes.mark_failed(connection, name, failed)
            if not quiet:
                typer.echo(f"Node {name} {'has failed' if failed else 'goes on'}.")


def _shape(
    count: int,
    prefix: str,
    cpu: str,
    memory: str,
    pods: str,
    gpus: int,
    gpu_resource: str,
    gpu_product: str,
    zones: list[str] | None,
    racks: list[str] | None,
    labels: list[str] | None,
    taints: list[str] | None,
    kwok_taint: bool,
) -> NodeShape:
    from ghostfleet.core.quantity import parse
    from ghostfleet.stages.nodes import NodeShape, parse_taint

    try:
        for name, amount in (("--cpu", cpu), ("--memory", memory), ("--pods", pods)):
            try:
                parse(amount)
            except ValueError as error:
                raise ValueError(f"{name} {amount}: {error}") from None
        return NodeShape(
            count=count,
            prefix=prefix,
            cpu=cpu,
            memory=memory,
            pods=pods,
            gpus=gpus,
            gpu_resource=gpu_resource,
            gpu_product=gpu_product,
            zones=zones or (),
            racks=racks or (),
            labels=dict(_pair(text) for text in labels or ()),
            taints=[parse_taint(text) for text in taints or ()],
            fake_taint=kwok_taint,
        )
    except ValueError as error:
        fail(str(error), WRONG_USAGE)


def _from(shape: NodeShape, first: int) -> NodeShape:
    from dataclasses import replace

    return replace(shape, first=first)


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
def _connected(cluster: str, kubeconfig: Path | None, context: str) -> Iterator[Connection]:
    from ghostfleet.drive.choice import find_access
    from ghostfleet.drive.connection import Connection
    from ghostfleet.drive.interface import ConnectionFailed, Refused

    try:
        connection = Connection(find_access(cluster, kubeconfig, context))
    except ConnectionFailed as error:
        fail(str(error), FAILED)
    try:
        yield connection
    except (ConnectionFailed, Refused) as error:
        fail(str(error), FAILED)
    finally:
        connection.close()


@contextmanager
def _progress(what: str, total: int | None, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; nothing elsewhere, since these commands end with a line of their own."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
