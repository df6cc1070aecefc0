"""Go templates, as KWOK's stages use them: text/template with sprig's functions, compiled to Python functions.

A text goes through `parser` to the parts of `syntax`; `compiler` makes Python functions of them, which call what
`builtins`, `texts`, `numbers`, `collections` and `dates` provide; `template` is what comes out, and `yaml` reads what
it renders.
"""

from __future__ import annotations

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.gotemplate.template import Template, compile_template
from ghostfleet.languages.gotemplate.values import TemplateError
from ghostfleet.languages.gotemplate.yaml import read_yaml, render_yaml

__all__ = ["Template", "TemplateError", "Unsupported", "compile_template", "read_yaml", "render_yaml"]
