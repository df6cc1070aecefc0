"""jq, as KWOK's stages use it: the language of gojq, compiled to Python functions.

A text goes through `lexer` and `parser` to the tree of `syntax`; `compiler` makes Python functions of it (`codes`,
within `scopes`), which call what `functions`, `special`, `math`, `dates` and the `prelude` provide; `query` is what
comes out.
"""

from __future__ import annotations

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.govalues import JsonNumber
from ghostfleet.languages.jq.query import Query, compile_jq
from ghostfleet.languages.jq.values import JqError

__all__ = ["JqError", "JsonNumber", "Query", "Unsupported", "compile_jq"]
