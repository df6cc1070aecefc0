"""Why pods wait: the first ones that do, each with the reason that `ghostfleet explain` finds.

The cluster is copied once, and each pod judged in the copy by the scheduler's own rules.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ghostfleet.clusterloader.measurements.measurement import Context
from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import PODS, Cluster, ConnectionFailed, Refused

__all__ = ["MOST_PODS", "explained"]

#: Pods that a message names; hundreds of names help nobody.
MOST_PODS = 20


def _is_waiting(pod: Object) -> bool:
    """Whether a pod has still to come up."""
    return (pod.get("status") or {}).get("phase", "Pending") == "Pending" and "deletionTimestamp" not in pod["metadata"]


async def explained(context: Context, problem: str, chosen: Callable[[Object], bool]) -> str:
    """What is wrong, and a line for each of the first pods that wait, of those that are chosen."""
    try:
        pods = await context.cluster.list(PODS)
        lines = await _reasons(context.cluster, [pod for pod in pods if _is_waiting(pod) and chosen(pod)])
    except (Refused, ConnectionFailed) as error:
        lines = [f"why pods wait could not be found out: {error}"]
    return "\n".join([problem, *lines])


async def _reasons(cluster: Cluster, waiting: list[Object]) -> list[str]:
    """Why pods wait, a line each, and how many more there are."""
    from ghostfleet.lab.explain.copying import copy_cluster
    from ghostfleet.lab.explain.pod import judge, without_looking
    from ghostfleet.schedulers.framework import Profile
    from ghostfleet.schedulers.kube.schedule_one import ScheduleAlgorithm

    algorithm = None
    lines = []
    for pod in waiting[:MOST_PODS]:
        verdict = without_looking(pod)
        if verdict is None:
            if algorithm is None:
                algorithm = ScheduleAlgorithm.from_store(await copy_cluster(cluster), Profile(), Random(0))
            why = judge(algorithm, pod)
            # Where nodes give several reasons, the scheduler's own words have all of them.
            verdict = why.message.partition(". ")[0] if len(why.findings) > 1 else why.verdict
        metadata = pod["metadata"]
        lines.append(f"  pod {metadata.get('namespace', '')}/{metadata['name']} waits: {verdict}")
    if len(waiting) > MOST_PODS:
        lines.append(f"  and {len(waiting) - MOST_PODS} more pods wait")
    return lines
