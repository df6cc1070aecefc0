"""CEL, Google's expression language, compiled to Python functions.

A text goes through `parser`; `compiler` makes Python functions of its nodes, by the `forms` they have and the
`macros`, `operators` and `functions` they name; `program` is what comes out.
"""

from __future__ import annotations

from ghostfleet.languages.cel.objects import Struct
from ghostfleet.languages.cel.program import Program, compile_cel
from ghostfleet.languages.cel.values import CelError, Duration, Quantity, Timestamp, Uint
from ghostfleet.languages.errors import Unsupported

__all__ = ["CelError", "Duration", "Program", "Quantity", "Struct", "Timestamp", "Uint", "Unsupported", "compile_cel"]
