"""Whether a node is one that a pod asks for: by its selector and by the affinity that is required of the node."""

from __future__ import annotations

from ghostfleet.core.changes import Object

__all__ = ["matches_node"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def matches_node(spec: Object, node: Object) -> bool:
    """Whether a node has what the spec of a pod requires."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get(_REQUIRED)
    if required is None:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(_matches_term(term, labels, fields) for term in required.get("nodeSelectorTerms") or ())


def _matches_term(term: Object, labels: Object, fields: Object) -> bool:
    expressions, of_fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    # An empty term matches nothing.
    return bool(expressions or of_fields) and (
        all(_holds(each, labels) for each in expressions) and all(_holds(each, fields) for each in of_fields)
    )


def _holds(requirement: Object, values: Object) -> bool:
    value = values.get(requirement["key"])
    operator: str = requirement["operator"]
    wanted: list[str] = requirement.get("values") or []
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (operator == "Exists")
    try:
        number, bound = int(value or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound
