"""How explanations about KAI are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ghostfleet.lab.explain import KaiExplanation, QueueExplanation
    from ghostfleet.lab.explain.kai import ScenarioTold

__all__ = ["print_pod", "print_queue"]

_SHOWN_NODES = 4
_SHOWN_SCENARIOS = 8
_SHOWN_VICTIMS = 4


def print_pod(why: KaiExplanation) -> None:
    """A pod that waits for KAI."""
    typer.echo(f"pod/{why.name} in {why.namespace} is {why.phase}: {why.verdict}.")
    if why.message:
        typer.echo("\nKAI said: " + " ".join(why.message.split()))
    if why.order:
        queue = f" (queue {why.queue})" if why.queue else ""
        typer.echo(f"\nIts place in the order{queue}: {why.order}.")
    typer.echo("\nWhat to look at:")
    for number, check in enumerate(why.checks, 1):
        typer.echo(f"  {number}. {'ok ' if check.ok else 'NO '} {check.about}: {check.told}")
    if why.stops:
        typer.echo("\nWhat stops it:")
    for line in why.stops:
        typer.echo(f"  {' '.join(line.split())}")
    if why.nodes:
        typer.echo("\nWhat the nodes say:")
    for each in why.nodes:
        reason = " ".join(each.reason.split())
        typer.echo(f"  {len(each.nodes):>6}  {reason}: {_some(each.nodes, _SHOWN_NODES)}")
    if why.searches:
        typer.echo("\nWhether others can make room:")
    for search in why.searches:
        typer.echo(f"  {search.does} ({search.action}): {search.verdict}")
        for scenario in search.scenarios[:_SHOWN_SCENARIOS]:
            typer.echo(f"    {_scenario(scenario)}")
        more = len(search.scenarios) - _SHOWN_SCENARIOS
        if more > 0:
            typer.echo(f"    and {more} more; -o json has all")
    if why.evicts:
        typer.echo(f"\nWho would be evicted: {', '.join(why.evicts)}")


def _scenario(scenario: ScenarioTold) -> str:
    victims = _some(scenario.victims, _SHOWN_VICTIMS) or "nobody"
    pods = f"for {scenario.for_pods} pods " if scenario.for_pods > 1 else ""
    return f"{pods}without {victims}: {scenario.outcome}"


def _some(names: tuple[str, ...], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def print_queue(why: QueueExplanation) -> None:
    """A queue."""
    typer.echo(f"queue/{why.name}: {why.verdict}.")
    place = f"below {why.parent}" if why.parent else "at the top"
    below = f", above {', '.join(why.children)}" if why.children else ""
    typer.echo(f"\nIt is {place}{below}, with priority {why.priority}.")
    for resource, unit, name in (("gpu", 1.0, "GPUs"), ("cpu", 1000.0, "cores"), ("memory", 1e9, "GB")):
        each = why.resources[resource]
        figures = [
            f"{label} {_told(amount, unit)}"
            for label, amount in (
                ("quota", each.quota),
                ("limit", each.limit),
                ("fair share", each.fair_share),
                ("allocated", each.allocated),
                ("requested", each.requested),
            )
        ]
        typer.echo(f"  {name:<6} {', '.join(figures)}")
    typer.echo(f"\nIts fair share of GPUs: {why.fair_share}.")
    if why.waiting:
        typer.echo("\nWhat waits in it:")
    for job in why.waiting:
        place = f"number {job.position} of all" if job.position else "not in the order"
        typer.echo(f"  {job.name} ({job.pods} pod{'' if job.pods == 1 else 's'}, {place}): {job.told}")
    if why.more:
        typer.echo(f"  and {why.more} more")
    if why.findings:
        typer.echo("\nWhat is wrong with it:")
    for finding in why.findings:
        typer.echo(f"  {finding.problem}; {finding.remedy}")


def _told(amount: float, unit: float) -> str:
    return "unlimited" if amount == -1 else f"{amount / unit:g}"
