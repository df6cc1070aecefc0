"""Objects as KWOK shows them to the CEL of a stage: pods and nodes are Go structs, everything else is a map."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ghostfleet.api.builtin import kind_type
from ghostfleet.core.schema import Type
from ghostfleet.languages.cel import Program, Struct, compile_cel

__all__ = ["compile_stage_cel"]

_STRUCTS = frozenset(("Pod", "Node"))


def compile_stage_cel(text: str, place: str = "") -> Program:
    """An expression of a stage about its object, `self`; the place is that of the expression in the stage."""
    return compile_cel(text, show=_as_struct, place=place)


def _as_struct(value: Any) -> Any:
    if type(value) is dict and value.get("apiVersion") == "v1" and value.get("kind") in _STRUCTS:
        return Struct(value, _type(value["kind"]))
    return value


@lru_cache(maxsize=8)
def _type(kind: str) -> Type:
    found = kind_type("", "v1", kind)
    assert found is not None
    return found
