"""Discoveries: what clients ask before they know any kind."""

from __future__ import annotations

from parity_material.cases import Step
from parity_material.kinds import KINDS

__all__ = ["DISCOVERIES"]

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
_ROOTS = sorted({kind.root for kind in KINDS if kind.plural != "customresourcedefinitions"})

DISCOVERIES: dict[str, list[Step]] = {
    **{f"resources at {root}": [Step("GET", root)] for root in _ROOTS},
    **{
        f"group at {root.rpartition('/')[0]}": [Step("GET", root.rpartition("/")[0])]
        for root in _ROOTS
        if "apis" in root
    },
    "versions of the core": [Step("GET", "/api")],
    "core in one answer": [Step("GET", "/api", accept=_AGGREGATED)],
    "health": [Step("GET", path) for path in ("/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/nonsense")],
    "paths that lead nowhere": [
        Step("GET", path)
        for path in (
            "/nonsense",
            "/api/v2",
            "/api/v1/nonsense",
            "/api/v1/namespaces/default/nonsense",
            "/apis/nonsense.example.com",
            "/apis/nonsense.example.com/v1",
            "/apis/nonsense.example.com/v1/things",
            "/apis/apps/v9",
            "/apis/apps/v1/nonsense",
            "/apis/apps/v9/deployments",
        )
    ],
    "nobody in particular": [Step("POST", "/api/v1"), Step("DELETE", "/apis"), Step("PUT", "/version")],
}
