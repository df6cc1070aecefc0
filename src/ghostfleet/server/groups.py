"""API groups in the order in which clients should prefer them.

Kubernetes gives every group and version a priority: when two groups have a resource of the same name, clients such as
kubectl take the one that comes first. Custom groups come after the built-in ones, by name, and those whose resources
have a better name elsewhere come last; their versions are ordered by maturity (`v2`, `v1`, `v1beta1`, `v1alpha1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.api.kinds import Resource

__all__ = ["ApiGroup", "group_resources", "maturity"]

#: Source: pkg/controlplane/apiserver/aggregator.go and cmd/kube-apiserver/app/aggregator.go of Kubernetes 1.36.
_PRIORITIES = {
    "": 18000,
    "apiregistration.k8s.io": 20000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "metrics.k8s.io": 100,
}
_CUSTOM = 1000
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class ApiGroup:
    """One API group: its versions, the preferred one first, and the resources of each by plural name."""

    name: str
    versions: dict[str, list[Resource]]
    #: all its resources are defined by users
    custom: bool

    @property
    def preferred(self) -> str:
        return next(iter(self.versions))


def maturity(version: str) -> tuple[int, int, int, str]:
    """Sort key of a version's name: stable before beta before alpha, high numbers first, odd names last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return 1, 0, 0, version
    major, stage, minor = match.groups()
    # The stage outweighs the number: v1 comes before v2beta1.
    return 0, -(_STAGES[stage] * 1_000_000 + int(major)), -int(minor or 0), version


def group_resources(resources: Iterable[Resource]) -> dict[str, ApiGroup]:
    """All groups by name, in order of preference; the core group is the one without a name."""
    found: dict[str, dict[str, list[Resource]]] = {}
    custom: dict[str, bool] = {}
    secondary: dict[str, bool] = {}
    for resource in resources:
        versions = found.setdefault(resource.group, {})
        for version in resource.versions.values():
            if version.served:
                versions.setdefault(version.name, []).append(resource)
                custom[resource.group] = custom.get(resource.group, True) and resource.custom
                secondary[resource.group] = secondary.get(resource.group, True) and resource.secondary
    return {
        name: ApiGroup(
            name,
            {
                version: sorted(found[name][version], key=lambda resource: resource.plural)
                for version in sorted(found[name], key=maturity)
            },
            custom[name],
        )
        for name in sorted(found, key=lambda name: (-_PRIORITIES.get(name, _CUSTOM), secondary.get(name, False), name))
        if found[name]
    }
