"""Draws the layers of the package and who imports whom: python -m tools.layers

The order of the layers is that of the contract in pyproject.toml which `make check` enforces; the imports are read from
the sources. The picture goes to docs/images/layers.svg. It is a matrix: a layer a row, and in its row a dot for each
layer that it imports. Since layers look down only, all dots are on one side of the diagonal. With --check nothing is
written; exit code 1 says that the file is not the picture of these sources.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
PACKAGE = "ghostfleet"
CONTRACT = "layers look down only"

#: Pixels: the height and width of a cell, where the matrix begins, and the space around everything.
CELL, LEFT, TOP, MARGIN = 30, 140, 112, 16

STYLE = """
  .page { fill: #ffffff } .layer { fill: #e8eef7; stroke: #5b7db1 } .self { fill: #5b7db1 } .dot { fill: #b3541e }
  .line { stroke: #d8dde4 } text { fill: #1f2933; font: 14px system-ui, sans-serif } .note { font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d } .layer { fill: #22303f; stroke: #7fa3d8 } .self { fill: #7fa3d8 } .dot { fill: #f0a36b }
    .line { stroke: #333c47 } text { fill: #e6e9ed }
  }
"""


def layers() -> list[str]:
    """The names of the layers, the highest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    found = next(each["layers"] for each in contracts if each["name"] == CONTRACT)
    return [name.removeprefix(f"{PACKAGE}.") for name in found]


def imports(layer: str) -> set[str]:
    """The other layers that modules of a layer import."""
    paths = sorted((ROOT / "src" / PACKAGE / layer).rglob("*.py"))
    return {found for path in paths for found in _imported(path.read_text(encoding="utf-8"))} - {layer}


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == PACKAGE:
                yield rest.partition(".")[0]


def picture() -> str:
    """The text of the file."""
    names = layers()
    size = CELL * len(names)
    width, height = LEFT + size + 60, TOP + size + 32 + MARGIN
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">The layers, and which of those below it each imports</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
    ]
    middles = [CELL * at + CELL // 2 for at in range(len(names))]
    grid = "".join(f"M{LEFT} {TOP + each}h{size}M{LEFT + each} {TOP}v{size}" for each in middles)
    pieces.append(f'<path class="line" d="{grid}"/>')
    for at, name in enumerate(names):
        pieces += _row(at, name, [names.index(each) for each in imports(name) if each in names])
    said = "Each layer imports those with a dot in its row, all of them below it."
    pieces.append(f'<text class="note" x="{MARGIN}" y="{TOP + size + 28}">{said}</text>')
    return "\n".join([*pieces, "</svg>", ""])


def _row(at: int, name: str, imported: list[int]) -> list[str]:
    """A layer's name beside and above the matrix, and its dots."""
    top, left = TOP + CELL * at, LEFT + CELL * at
    across, down = left + CELL // 2, top + CELL // 2
    return [
        f'<rect class="layer" x="{MARGIN}" y="{top + 3}" width="{LEFT - MARGIN - 10}" height="{CELL - 6}" rx="4"/>',
        f'<text x="{MARGIN + 10}" y="{down + 5}">{name}</text>',
        f'<text x="{across}" y="{TOP - 8}" transform="rotate(-50 {across} {TOP - 8})">{name}</text>',
        f'<rect class="self" x="{left + 8}" y="{top + 8}" width="{CELL - 16}" height="{CELL - 16}" rx="2"/>',
        *(
            f'<circle class="dot" cx="{LEFT + CELL * each + CELL // 2}" cy="{down}" r="6"/>'
            for each in sorted(imported)
        ),
    ]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        if PICTURE.read_text(encoding="utf-8") == picture():
            return 0
        print(f"{PICTURE.relative_to(ROOT)} is not the picture of these sources: python -m tools.layers")
        return 1
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
