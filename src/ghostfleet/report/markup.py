"""HTML, put together so that text can never become markup.

`element` escapes every piece of content and every attribute that is not `Markup`; names that come from somebody's
cluster are thus shown as they are, whatever they contain. Data for scripts goes through `embedded`, after which nothing
in it can end the script's element.
"""

from __future__ import annotations

import html
from typing import Any

import orjson

__all__ = ["Markup", "element", "embedded", "joined", "table"]


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str | bool | None) -> Markup:
    """An element. `class_` stands for `class`, `aria_label` for `aria-label`; True is an attribute without a value."""
    pieces = [tag]
    for name, value in attributes.items():
        shown = name.rstrip("_").replace("_", "-")
        if value is True:
            pieces.append(shown)
        elif value is not None and value is not False:
            pieces.append(f'{shown}="{html.escape(value)}"')
    return Markup(f"<{' '.join(pieces)}>{joined(*content)}</{tag}>")


def joined(*content: str) -> Markup:
    """Pieces one after another."""
    return Markup("".join(each if isinstance(each, Markup) else html.escape(each) for each in content))


def table(caption: str, head: list[str], rows: list[list[str]], *, texts: int = 1, stacks: bool = False) -> Markup:
    """A table that scrolls by itself when it is too wide; its first cell names a row, the first `texts` are words.

    Where there is little room, one that `stacks` shows each row as a block, with the column's name above each cell.
    """

    def cell(tag: str, index: int, content: str, scope: str | None = None) -> Markup:
        label = head[index] if stacks and tag == "td" else None
        return element(tag, content, scope=scope, class_=None if index < texts else "number", data_label=label)

    header = element("tr", *(cell("th", index, name, "col") for index, name in enumerate(head)))
    body = [
        element("tr", cell("th", 0, row[0], "row"), *(cell("td", at, text) for at, text in enumerate(row[1:], 1)))
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", header), element("tbody", *body))
    look = "scroll stack" if stacks else "scroll"
    return element("div", whole, class_=look, tabindex="0", role="region", aria_label=caption)


def embedded(data: Any) -> Markup:
    """Data as JSON that can stand inside a script element."""
    return Markup(orjson.dumps(data).replace(b"<", b"\\u003c").replace(b">", b"\\u003e").decode())
