"""The environment that every expression in Kubernetes starts from (k8s.io/apiserver, 1.36).

Variables are declared by who evaluates: `device` for devices, `self` for custom resources, `object` for admission.
"""

from __future__ import annotations

from functools import cache

from ghostfleet.languages.cel.checked.declarations import functions_of
from ghostfleet.languages.cel.checked.environment import Environment
from ghostfleet.languages.cel.checked.library.formats import FORMATS
from ghostfleet.languages.cel.checked.library.lists import LISTS
from ghostfleet.languages.cel.checked.library.networks import NETWORKS
from ghostfleet.languages.cel.checked.library.optionals import OPTIONALS
from ghostfleet.languages.cel.checked.library.quantities import QUANTITIES
from ghostfleet.languages.cel.checked.library.semvers import SEMVERS
from ghostfleet.languages.cel.checked.library.standard import STANDARD
from ghostfleet.languages.cel.checked.library.strings import STRINGS

__all__ = ["kubernetes_environment"]

#: what one evaluation may cost (k8s.io/apiserver/pkg/apis/cel, PerCallLimit)
_PER_CALL_LIMIT = 1_000_000


@cache
def kubernetes_environment() -> Environment:
    libraries = (STANDARD, LISTS, OPTIONALS, QUANTITIES, NETWORKS, STRINGS, SEMVERS, FORMATS)
    return Environment(functions_of(*libraries), cost_limit=_PER_CALL_LIMIT)
