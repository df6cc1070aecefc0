"""`ghostfleet explain`: why something waits, with evidence, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected
from ghostfleet.cli.output import WRONG_USAGE, Form, fail, print_structure

if TYPE_CHECKING:
    from ghostfleet.drive.interface import Cluster
    from ghostfleet.lab.explain import KaiExplanation, PodExplanation
    from ghostfleet.schedulers.dra import RequestCensus

__all__ = ["explain"]

_PODS = ("pod", "pods", "po")
_WRAPPERS = ("appwrapper", "appwrappers", "aw")
_QUEUES = ("queue", "queues")
_SHOWN_NODES = 4
_SHOWN_REMEDIES = 6


def explain(
    what: Annotated[
        str,
        typer.Argument(
            help="What to explain: pod/NAME, queue/NAME, appwrapper/NAME, or an owner of pods: job/NAME ..."
        ),
    ],
    namespace: Annotated[str, typer.Option("-n", "--namespace", help="Where it is.")] = "default",
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    dispatcher: Annotated[
        str,
        typer.Option(help="By whose rules an AppWrapper is explained; by default those of the cluster's dispatcher."),
    ] = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the answer is printed.")] = Form.TABLE,
) -> None:
    """Say why a pod, an AppWrapper, the pods of an owner or those of a queue wait: the reason, and what would help."""
    kind, _, name = what.partition("/")
    if not kind or not name:
        fail(f"{what}: expected pod/NAME, job/NAME, queue/NAME, appwrapper/NAME or any other owner", WRONG_USAGE)
    with connected(cluster, kubeconfig, context) as found:
        if kind in _PODS:
            _explain_pod(found, namespace, name, form)
        elif kind in _QUEUES:
            _explain_queue(found, name, form)
        elif kind in _WRAPPERS:
            _explain_wrapper(found, namespace, name, dispatcher, form)
        else:
            _explain_owner(found, kind, namespace, name, form)


def _explain_pod(cluster: Cluster, namespace: str, name: str, form: Form) -> None:
    from ghostfleet.lab.explain import explain_pod

    why = cluster.run(explain_pod(cluster, namespace, name))
    if form is Form.TABLE:
        _print(why)
    else:
        print_structure(why, form)


def _explain_queue(cluster: Cluster, name: str, form: Form) -> None:
    from ghostfleet.cli.explainkai import print_queue
    from ghostfleet.lab.explain import explain_queue

    why = cluster.run(explain_queue(cluster, name))
    if form is Form.TABLE:
        print_queue(why)
    else:
        print_structure(why, form)


def _explain_wrapper(cluster: Cluster, namespace: str, name: str, dispatcher: str, form: Form) -> None:
    from ghostfleet.lab.explain import explain_wrapper

    why = cluster.run(explain_wrapper(cluster, namespace, name, dispatcher))
    if form is Form.TABLE:
        typer.echo("\n".join(why.lines()))
    else:
        print_structure(why, form)


def _explain_owner(cluster: Cluster, kind: str, namespace: str, name: str, form: Form) -> None:
    from ghostfleet.lab.explain import PodExplanation, explain_owner

    why = cluster.run(explain_owner(cluster, kind, namespace, name))
    if form is not Form.TABLE:
        print_structure(why, form)
        return
    pods = ", ".join(f"{count} {phase}" for phase, count in why.pods.items()) or "no pods"
    lacking = f", {why.missing} not made yet" if why.missing else ""
    typer.echo(f"{why.kind}/{why.name} in {why.namespace} has {pods}{lacking}: {why.verdict}.")
    if why.nodes is not None:
        more = f"{why.nodes.count} more node{'s' if why.nodes.count > 1 else ''}"
        typer.echo(f"\nAll of them would fit with {more} like {why.nodes.like} (tried out).")
    elif isinstance(why.first, PodExplanation):
        typer.echo("\nMore nodes of a shape that is there would not place all of them.")
    if why.first is not None:
        typer.echo("")
        _print(why.first)


def _print(why: PodExplanation | KaiExplanation) -> None:
    from ghostfleet.cli.explainkai import print_pod
    from ghostfleet.lab.explain import KaiExplanation

    if isinstance(why, KaiExplanation):
        print_pod(why)
    else:
        _print_pod(why)


def _print_pod(why: PodExplanation) -> None:
    typer.echo(f"pod/{why.name} in {why.namespace} is {why.phase}: {why.verdict}.")
    if why.message:
        typer.echo(f"\nThe scheduler says: {why.message}")
    if why.findings:
        typer.echo("\nWhat the nodes say:")
    for finding in why.findings:
        more = len(finding.nodes) - _SHOWN_NODES
        shown = ", ".join(finding.nodes[:_SHOWN_NODES]) + (f" and {more} more" if more > 0 else "")
        typer.echo(f"  {len(finding.nodes):>6}  {finding.reason} ({finding.plugin}): {shown}")
        if block := finding.block:
            typer.echo(
                f"          asks for {block.asked} {block.resource}; largest free block {block.largest}"
                f"{f' on {block.node}' if block.node else ''}; "
                f"{block.free} of {block.capacity} free in all; largest node has {block.largest_node}"
            )
    if why.devices:
        typer.echo("\nWhat its claims find:")
    for each in why.devices:
        typer.echo(f"  request {each.request} of claim {each.claim} {_found(each)}")
    if why.findings:
        typer.echo("\nWhat would place it (each tried out):" if why.remedies else "\nNo small change would place it.")
    for remedy in why.remedies[:_SHOWN_REMEDIES]:
        typer.echo(f"  - {remedy.change}  ->  {remedy.node}")


def _found(census: RequestCensus) -> str:
    """How many devices a request finds."""
    asked = "all devices" if not census.count else f"{census.count} device{'s' if census.count > 1 else ''}"
    if not census.in_class:
        return f"asks for {asked} of {census.device_class}; none of {census.devices} devices is of that class"
    if not census.matching:
        return f"asks for {asked} of {census.device_class}; none of {census.in_class} matches its selectors"
    most = f", at most {census.most} on one node ({census.node})" if census.node else ""
    return f"asks for {asked} of {census.device_class}; {census.matching} match, {census.free} of them free{most}"
