"""`ghostfleet devices`: the DRA devices of a cluster, and who holds them."""

from __future__ import annotations

from typing import Annotated

import typer

from ghostfleet.cli.connecting import ClusterName, Context, Kubeconfig, connected_plainly
from ghostfleet.cli.output import Form, print_rows

__all__ = ["devices"]

_SHOWN_PODS = 3


def devices(
    node: Annotated[str, typer.Option(help="Only the devices of this node.")] = "",
    held: Annotated[bool, typer.Option("--held", help="Only devices that some claim holds.")] = False,
    cluster: ClusterName = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    form: Annotated[Form, typer.Option("-o", "--output", help="How the devices are printed.")] = Form.TABLE,
) -> None:
    """List DRA devices by node: free, held by which claim and pods, tainted, or used up by others."""
    from dataclasses import asdict

    from ghostfleet.drive.devices import taint_rules
    from ghostfleet.lab.devices import device_uses

    with connected_plainly(cluster, kubeconfig, context) as connection:
        slices = connection.items("/apis/resource.k8s.io/v1/resourceslices")
        claims = connection.items("/apis/resource.k8s.io/v1/resourceclaims")
        rules = taint_rules(connection)
    uses = device_uses(slices, claims, rules)
    found = [use for use in uses if (not node or use.node == node) and (not held or use.claims)]
    rows = [asdict(use) for use in found]
    if form is Form.TABLE:
        for row in rows:
            more = len(row["pods"]) - _SHOWN_PODS
            row["claims"] = ", ".join(row["claims"])
            row["pods"] = ", ".join(row["pods"][:_SHOWN_PODS]) + (f" and {more} more" if more > 0 else "")
    nothing = "No devices. Nodes that have some: ghostfleet nodes add --dra nvidia"
    print_rows(rows, form, ["node", "device", "driver", "state", "claims", "pods"], nothing)
