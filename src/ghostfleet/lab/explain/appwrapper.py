"""Why an AppWrapper waits: asked of the API objects of a cluster, so that it works wherever MCAD runs."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.explain import Explanation, explain
from ghostfleet.dispatchers.mcad.profiles import load_dispatcher_profile
from ghostfleet.drive.interface import NODES, PODS, Cluster, Kind, Refused
from ghostfleet.lab.errors import LabError

__all__ = ["explain_wrapper"]

_WRAPPERS = (
    Kind("workload.codeflare.dev", "v1beta1", "appwrappers"),
    Kind("mcad.ibm.com", "v1beta1", "appwrappers"),
)
_QUOTAS = (
    Kind("quota.codeflare.dev", "v1alpha1", "quotasubtrees"),
    Kind("ibm.com", "v1", "quotasubtrees"),
)
#: What a cluster is taken to have when it does not say.
_NEWEST = "mcad-1.40"


async def explain_wrapper(cluster: Cluster, namespace: str, name: str, dispatcher: str = "") -> Explanation:
    """Explain one AppWrapper by the rules of a dispatcher, by default of the one that the cluster has."""
    try:
        profile = load_dispatcher_profile(dispatcher or cluster.info.dispatcher or _NEWEST)
    except ValueError as error:
        raise LabError(str(error)) from error
    wrappers = await _all(cluster, _WRAPPERS)
    if wrappers is None:
        raise LabError("the cluster has no AppWrappers; `ghostfleet up --dispatcher mcad-1.40` starts one that has")
    try:
        return explain(
            (namespace, name),
            wrappers,
            await cluster.list(NODES),
            await cluster.list(PODS),
            await _all(cluster, _QUOTAS) or (),
            profile,
            cluster.now(),
        )
    except KeyError:
        raise LabError(f"there is no AppWrapper {name} in namespace {namespace}") from None
    except ValueError as error:
        raise LabError(f"AppWrapper {name} cannot be read: {error}") from error


async def _all(cluster: Cluster, kinds: tuple[Kind, ...]) -> list[Object] | None:
    """The objects of the first of these kinds that the cluster serves; None when it serves none of them."""
    for kind in kinds:
        try:
            return await cluster.list(kind)
        except Refused as refusal:
            if refusal.code != 404:
                raise
    return None
