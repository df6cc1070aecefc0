"""Definitions of AppWrapper and QuotaSubtree, under the names of both times.

The project moved to other API groups in August 2023. Both names are served, and show the same objects, so that
manifests and scripts of either time work; the one of a version's own time is taken where no group is given. The older
AppWrapper had no status subresource.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ghostfleet.controllers.installing import install, load_definitions
from ghostfleet.core.changes import Object
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store

__all__ = ["install_definitions"]

_FILE = Path(__file__).parent / "data" / "definitions.yaml"
_STORED_AS, _SECONDARY = "ghostfleet.dev/stored-as", "ghostfleet.dev/secondary"
#: The older group and version of each resource.
_BEFORE = {"appwrappers": ("mcad.ibm.com", "v1beta1"), "quotasubtrees": ("ibm.com", "v1")}


@lru_cache(maxsize=1)
def _definitions() -> tuple[Object, ...]:
    return tuple(load_definitions(_FILE))


def install_definitions(store: Store, profile: Profile) -> None:
    """Create the definitions that are not there yet."""
    for definition in _definitions():
        alias = _alias(definition)
        if profile.switch("status.subresource"):
            alias = _annotated(alias, **{_SECONDARY: "true"})
        else:
            definition = _annotated(definition, **{_SECONDARY: "true"})
            if definition["spec"]["names"]["plural"] == "appwrappers":
                definition, alias = _without_status(definition), _without_status(alias)
        install(store, (definition, alias))


def _annotated(definition: Object, **annotations: str) -> Object:
    metadata = definition["metadata"]
    return {**definition, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}}}


def _without_status(definition: Object) -> Object:
    versions = [
        {key: value for key, value in version.items() if key != "subresources"}
        for version in definition["spec"]["versions"]
    ]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def _alias(definition: Object) -> Object:
    """The same under its older name."""
    plural = definition["spec"]["names"]["plural"]
    group, version = _BEFORE[plural]
    (only,) = definition["spec"]["versions"]
    # Short names belong to one of them only; kubectl warns of those that fit two resources.
    names = {field: name for field, name in definition["spec"]["names"].items() if field != "shortNames"}
    alias = {
        **definition,
        "metadata": {**definition["metadata"], "name": f"{plural}.{group}"},
        "spec": {**definition["spec"], "group": group, "names": names, "versions": [{**only, "name": version}]},
    }
    return _annotated(alias, **{_STORED_AS: definition["metadata"]["name"]})
