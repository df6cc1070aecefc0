"""Go templates, as KWOK's stages use them: text/template with sprig's functions, compiled to Python functions.

A text goes through `parser` to the parts of `syntax`; `compiler` makes Python functions of them, which call what
`functions`, `texts`, `numbers`, `collections` and `dates` provide; `template` is what comes out, and reads the YAML
that it renders.
"""

from __future__ import annotations

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.gotemplate.template import Template, compile_template, read_yaml, render_yaml
from ghostfleet.languages.gotemplate.values import TemplateError

__all__ = ["Template", "TemplateError", "Unsupported", "compile_template", "read_yaml", "render_yaml"]
