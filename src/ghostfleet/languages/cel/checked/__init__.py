"""CEL as Kubernetes has it: expressions are checked against declared types before they are evaluated.

The text is read by the same parser as everywhere; `expressions` writes out the macros, `checker` finds the types by the
`declarations` of an `environment`, and `plan` makes Python functions. `library` has the functions; `kubernetes` is the
environment that all of Kubernetes starts from.
"""

from __future__ import annotations

from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.environment import Checked, Environment
from ghostfleet.languages.cel.checked.issues import CompileError
from ghostfleet.languages.cel.checked.kubernetes import kubernetes_environment
from ghostfleet.languages.cel.checked.types import Type, read_type
from ghostfleet.languages.cel.checked.values import CostExceeded, DefaultMap, Optional

__all__ = [
    "Checked",
    "CompileError",
    "CostExceeded",
    "DefaultMap",
    "Environment",
    "Function",
    "Optional",
    "Type",
    "function",
    "kubernetes_environment",
    "overload",
    "read_type",
]
