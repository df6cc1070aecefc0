"""Table output: what `kubectl get` prints, for every kind."""

from __future__ import annotations

from ghostfleet.server.tables.rendering import IncludeObject, columns, include_object_of, row, table

__all__ = ["IncludeObject", "columns", "include_object_of", "row", "table"]
