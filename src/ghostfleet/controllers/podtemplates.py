"""Pod templates in custom resources: read as a pod before pods are made of them.

The API checks the templates of built-in kinds when their owner is written. Custom resources may hold anything, and what
is wrong shows when the first pod is to be made. A template is *read* here the way a pod's body is: unknown fields go,
and the rest must be valid. Equal specs are read once.
"""

from __future__ import annotations

from typing import Any

import orjson

from ghostfleet.api.builtin import kind_type
from ghostfleet.api.defaults import apply_defaults, prepare_for_create
from ghostfleet.api.validation import normalise, validate_create, validate_metadata
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import bad_request, invalid

__all__ = ["TemplateReader"]

_REMEMBERED = 1024
#: The pod that a template is read as; it is never stored.
_POD = {"name": "template", "namespace": "default"}
_NO_METADATA: Object = {}


class TemplateReader:
    """Reads the templates of one kind of owner."""

    def __init__(self) -> None:
        self._specs: dict[bytes, Object] = {}
        self._last: tuple[Any, Object] | None = None

    def read(self, template: Any) -> Object:
        """The template in clean form; the API's error if no pod can be made of it."""
        if not isinstance(template, dict):
            raise bad_request("a pod template was expected to be an object")
        given = template.get("metadata") or _NO_METADATA
        metadata = self._metadata(given)
        spec = self._spec(template.get("spec"))
        if spec is template.get("spec") and metadata is given:
            return template
        return {"metadata": metadata, "spec": spec}

    def _metadata(self, given: Any) -> Object:
        metadata: Object = _shaped({"metadata": given})["metadata"]
        errors = validate_metadata("pods", {**metadata, **_POD})
        if errors:
            raise invalid("Pod", "", _POD["name"], errors)
        return metadata

    def _spec(self, given: Any) -> Object:
        if self._last is not None and (self._last[0] is given or self._last[0] == given):
            return self._last[1]
        key = orjson.dumps(given, option=orjson.OPT_SORT_KEYS)
        found = self._specs.get(key)
        if found is None:
            if len(self._specs) >= _REMEMBERED:
                del self._specs[next(iter(self._specs))]
            found = self._specs[key] = _read_spec(given)
        self._last = (given, found)
        return found


def _shaped(body: Object) -> Object:
    """A pod's body without fields that pods do not have."""
    schema = kind_type("", "v1", "Pod")
    assert schema is not None
    return normalise(body, schema, kind="Pod", version="v1")[0]


def _read_spec(given: Any) -> Object:
    pod = _shaped({"metadata": _POD, "spec": given if given is not None else {}})
    whole = {"apiVersion": "v1", "kind": "Pod", **pod}
    errors = validate_create("pods", prepare_for_create("pods", apply_defaults("pods", whole)))
    if errors:
        raise invalid("Pod", "", _POD["name"], errors)
    spec: Object = pod["spec"]
    return spec
