"""Resources: amounts that are requested, limited, or there to be had.

A *resource list* maps names of resources to quantities; the API server keeps them in their canonical form and, since
no smaller part of a resource can be given out, rounds them up to thousandths. *Requirements* are the limits and
requests of one container.
"""

from __future__ import annotations

from ghostfleet.api.defaults.filling import rule
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Amount, from_milli, milli, parse

__all__ = ["fill_pod_requirements", "fill_requirements", "fill_resource_list"]

_NANO_PER_MILLI = 10**6

#: Texts of quantities that are kept as they are.
_seen: set[str] = set()
_MAX_SEEN = 16384


def _stored(amount: Amount) -> Amount:
    """The amount as it is kept; what is no quantity stays as it is, for validation to complain about."""
    try:
        quantity = parse(amount)
    except ValueError:
        return amount
    if quantity.nano % _NANO_PER_MILLI:
        quantity = from_milli(milli(quantity), quantity.format)
    return str(quantity)


def fill_resource_list(amounts: Object) -> Object:
    # The same few texts come again and again; one look tells whether all of them are known to be right.
    if _seen.issuperset(amounts.values()):
        return amounts
    stored = {name: _stored(amount) for name, amount in amounts.items()}
    if len(_seen) > _MAX_SEEN:
        _seen.clear()
    _seen.update(text for text in stored.values() if isinstance(text, str))
    return amounts if stored == amounts else stored


fill_requirements = rule(parts={"limits": fill_resource_list, "requests": fill_resource_list})


def fill_pod_requirements(requirements: Object) -> Object:
    """A container's requirements in a pod: what is limited but not requested is requested in full."""
    requirements = fill_requirements(requirements)
    limits = requirements.get("limits")
    if not limits:
        return requirements
    requests = requirements.get("requests")
    if not requests:
        return {**requirements, "requests": limits}
    if limits.keys() <= requests.keys():
        return requirements
    missing = {name: amount for name, amount in limits.items() if name not in requests}
    return {**requirements, "requests": {**requests, **missing}}
