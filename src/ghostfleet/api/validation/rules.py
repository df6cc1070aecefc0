"""Rules: everything that is to be checked about one resource, put together.

A resource's *own rules* hold for an object by itself; most hold for updates too. *Update rules* compare two versions of
an object, and each subresource may have its own instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ghostfleet.api.validation.checks import Errors, Object
from ghostfleet.api.validation.metadata import NameRule
from ghostfleet.core import names

__all__ = ["Own", "Rules", "Update", "dns_label_name", "nothing", "path_segment_name", "subdomain_name"]

Own = Callable[[Errors, Object], None]
Update = Callable[[Errors, Object, Object], None]

subdomain_name: NameRule = names.is_dns1123_subdomain
dns_label_name: NameRule = names.is_dns1123_label
path_segment_name: NameRule = names.is_path_segment_name


def nothing(_errors: Errors, _obj: Object) -> None:
    """A resource without rules of its own."""


def _no_change_forbidden(_errors: Errors, _new: Object, _old: Object) -> None:
    """A resource of which everything may change."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is checked about one resource."""

    own: Own = nothing
    name: NameRule = subdomain_name
    namespaced: bool = True
    #: compares two versions, after the metadata and, if they hold again, the resource's own rules
    update: Update = _no_change_forbidden
    #: an update must satisfy the resource's own rules as well
    again_on_update: bool = True
    status: Update = _no_change_forbidden
    #: other subresources that are updates of the object
    subresources: Mapping[str, Update] = field(default_factory=dict)
