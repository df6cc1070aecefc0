"""Texts of jq, Go templates and CEL, and JSON patches, drawn by their grammars with a taste for what loops and grows.

Every text follows from a number, so that one that made trouble can be drawn again. Most are sound, some are not; numbers
are small or huge, functions are those that make something large out of something small.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

__all__ = ["LANGUAGES", "OBJECT", "json_patch", "strategic_patch"]

OBJECT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "labels": {"x": "y"}, "annotations": {"big": "ab" * 20_000, "lines": "a\n" * 2_000}},
    "data": {"n": "1", "text": "a-b-c"},
    "items": [{"name": f"i{number}", "n": number, "l": [1, 2, 3]} for number in range(30)],
}
_NUMBERS = ("0", "1", "2", "3", "7", "40", "1000", "30000", "1000000000")
_TEXTS = ('"x"', '"a,b"', '""', '"%d %s"', '"2006-01-02"', '"[[1]]"', '"ab"')
_PATTERNS = ('"a"', '"(a|b)+"', '"(?:a.*z)|a"', '"a{0,50}b"', '"x*"', '"["')


class Drawing:
    """Draws one text."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def some(self, draw: Callable[[int], str], depth: int, most: int = 3) -> list[str]:
        return [draw(depth) for _ in range(self.random.randint(1, most))]

    # -- jq --------------------------------------------------------------------------------------------------------

    def jq(self, depth: int = 5) -> str:
        leaf = self.one(".", ".[]?", "..", ".items[]", ".metadata.annotations.big", ".data", "$x?", *_NUMBERS, *_TEXTS)
        if depth <= 0 or self.random.random() < 0.12:
            return leaf.replace("$x?", ".")
        inner = lambda: self.jq(depth - 1)  # noqa: E731 - each call draws anew
        shape = self.random.randrange(22)
        number = self.one(*_NUMBERS)
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({inner()} | {inner()})",
            lambda: f"({inner()}, {inner()})",
            lambda: f"({inner()} {self.one('+', '-', '*', '/', '%', '==', '<', 'and', 'or', '//')} {inner()})",
            lambda: f"[{inner()}]",
            lambda: f"{{a: {inner()}, b: {inner()}}}",
            lambda: f"(reduce range({number}) as $i ({inner()}; {inner()}))",
            lambda: f"[foreach range({number}) as $i ({inner()}; {inner()}; {inner()})]",
            lambda: f"(def f: {inner()} | {self.one('f', '.', 'f, f', 'if . == 0 then . else f end')}; {inner()} | f)",
            lambda: (
                f"{self.one('first', 'last', 'isempty', 'add', 'any', 'all', 'recurse', 'repeat', 'path')}({inner()})"
            ),
            lambda: f"limit({number}; {inner()})",
            lambda: f"{self.one('until', 'while', 'recurse')}({inner()}; {inner()})",
            lambda: f"(if {inner()} then {inner()} else {inner()} end)",
            lambda: f"(try {inner()} catch {inner()})",
            lambda: (
                f"({inner()} | {self.one('walk', 'map', 'map_values', 'sort_by', 'group_by', 'unique_by')}({inner()}))"
            ),
            lambda: f"({inner()} | {self.one(*_JQ_FUNCTIONS)})",
            lambda: f"({inner()} | {self.one('test', 'match', 'scan', 'splits', 'capture')}({self.one(*_PATTERNS)}))",
            lambda: f'({inner()} | gsub({self.one(*_PATTERNS)}; "{self.one("", "bb", "b" * 50)}"; "g"))',
            lambda: f"({inner()} as $x | {inner()} | [$x, $x])",
            lambda: f"({inner()} as [$a] ?// $a | {inner()})",
            lambda: f"(.{self.one('a', 'items', 'items[]', f'[{number}]')} {self.one('=', '|=', '+=')} {inner()})",
            lambda: f'"{self.one("", "x")}\\({inner()})\\({inner()})"',
            lambda: f"(range({number}) | {inner()})",
        )
        return forms[shape]()

    # -- Go templates ----------------------------------------------------------------------------------------------

    def template(self, depth: int = 4) -> str:
        return "".join(self.some(self._part, depth, 4)) + self.one("", '{{ define "t" }}' + self._part(1) + "{{ end }}")

    def _part(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.2:
            return self.one("x", "a: b\n", "- ", "[a, ", "]", "{{ . }}", "{{ $ }}", f"{{{{ {self._value(1)} }}}}")
        body = lambda: "".join(self.some(self._part, depth - 1, 2))  # noqa: E731 - each call draws anew
        value = self._value(depth - 1)
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"{{{{ range {value} }}}}{body()}{{{{ end }}}}",
            lambda: f"{{{{ range {self.one('until', 'seq 1')} {self.one(*_NUMBERS)} }}}}{body()}{{{{ end }}}}",
            lambda: f"{{{{ range $i, $e := {value} }}}}{body()}{{{{ else }}}}{body()}{{{{ end }}}}",
            lambda: f"{{{{ if {value} }}}}{body()}{{{{ else }}}}{body()}{{{{ end }}}}",
            lambda: f"{{{{ with {value} }}}}{body()}{{{{ end }}}}",
            lambda: f"{{{{ {value} | {self.one(*_PIPED)} }}}}",
            lambda: (
                f"{{{{ $s := {value} }}}}{{{{ range until {self.one('3', '30', '200')} }}}}"
                f"{{{{ $s = {self.one(*_DOUBLING)} }}}}{{{{ end }}}}{{{{ $s }}}}"
            ),
            lambda: '{{ template "t" . }}',
        )
        return self.random.choice(forms)()

    def _value(self, depth: int) -> str:
        leaves = (".", "$", ".items", ".metadata.annotations.big", ".data", ".data.n", *_NUMBERS, *_TEXTS)
        if depth <= 0 or self.random.random() < 0.3:
            return self.one(*leaves)
        name, count = self.random.choice(_CALLS)
        return f"({name} {' '.join(self._value(depth - 1) for _ in range(count))})"

    # -- CEL -------------------------------------------------------------------------------------------------------

    def cel(self, depth: int = 5) -> str:
        leaf = self.one(
            "self", "self.items", "self.metadata.annotations.big", "[1, 2, 3]", "x", "true", *_NUMBERS, *_TEXTS
        )
        if depth <= 0 or self.random.random() < 0.12:
            return leaf
        inner = lambda: self.cel(depth - 1)  # noqa: E731 - each call draws anew
        target = lambda: self.one("self.items", "[1, 2, 3, 4, 5]", f"({inner()})", f"{inner()}")  # noqa: E731
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({inner()} {self.one('+', '-', '*', '==', '<', 'in', '&&', '||', '%')} {inner()})",
            lambda: f"{target()}.{self.one('all', 'exists', 'exists_one', 'filter', 'map')}(x, {inner()})",
            lambda: f"{target()}.map(x, [x, x]).map(x, [x, x])",
            lambda: f"{target()}.map(x, {inner()}).exists(x, x == {inner()})",
            lambda: f"({inner()} ? {inner()} : {inner()})",
            lambda: f"[{', '.join(self.some(self.cel, depth - 1))}]",
            lambda: f"{{{self.one(*_TEXTS)}: {inner()}}}",
            lambda: (
                f"{self.one('size', 'string', 'int', 'double', 'duration', 'timestamp', 'type', 'bytes')}({inner()})"
            ),
            lambda: f"{target()}.matches({self.one(*_PATTERNS)})",
            lambda: f"{target()}.{self.one('contains', 'startsWith', 'endsWith')}({self.one(*_TEXTS)})",
            lambda: f"{target()}[{inner()}]",
            lambda: f"!{inner()}",
        )
        return self.random.choice(forms)()


_JQ_FUNCTIONS = (
    "length", "keys", "tojson", "fromjson", "tostring", "tonumber", "explode", "implode", "flatten", "sort", "unique",
    "to_entries", "from_entries", "transpose", "combinations", "tostream", "paths", "reverse", "add", "ascii_downcase",
    "@base64", "@uri", "@csv", "@json", "@html", "@sh", "min", "max", "gmtime", "mktime", "todate", "leaf_paths?",
    "join(\",\")", "split(\"\")", "split(\",\")", "indices(1)", "inside([1])", "ltrimstr(\"a\")", "del(..)", "error",
    "strftime(\"%999d\")", "strptime(\"%Y\")", "getpath([\"a\",0])", "has(\"a\")", ".[1:]", ".[-1]", "pow(.; 9)", "halt",
)  # fmt: skip
_PIPED = (
    "len",
    "Quote",
    "toJson",
    "toPrettyJson",
    "YAML",
    "quote",
    "upper",
    "title",
    "b64enc",
    "sha256sum",
    "html",
    "js",
)
_DOUBLING = ("print $s $s", "list $s $s", "cat $s $s", 'printf "%v%v" $s $s', "quote $s", "concat $s $s", "dict $s $s")
_CALLS = (
    ("print", 2), ("printf", 2), ("list", 2), ("dict", 2), ("repeat", 2), ("until", 1), ("seq", 2), ("indent", 2),
    ("nindent", 2), ("join", 2), ("splitList", 2), ("replace", 3), ("regexFindAll", 3), ("regexReplaceAll", 3),
    ("regexMatch", 2), ("concat", 2), ("append", 2), ("merge", 2), ("set", 3), ("deepEqual", 2), ("uniq", 1), ("chunk", 2),
    ("slice", 2), ("index", 2), ("eq", 2), ("and", 2), ("or", 2), ("not", 1), ("add", 2), ("mul", 3), ("div", 2),
    ("toJson", 1), ("fromJson", 1), ("substr", 3), ("trunc", 2), ("untilStep", 3), ("toString", 1), ("YAML", 2), ("len", 1),
    ("round", 2), ("int", 1), ("default", 2), ("ternary", 3), ("has", 2), ("keys", 1), ("values", 1), ("pick", 2),
)  # fmt: skip

#: how to draw a text of each language
LANGUAGES: dict[str, Callable[[int], str]] = {
    "jq": lambda seed: Drawing(seed).jq(),
    "template": lambda seed: Drawing(seed).template(),
    "cel": lambda seed: Drawing(seed).cel(),
}

_PLACES = (
    "/data",
    "/data/n",
    "/data/k",
    "/items",
    "/items/0",
    "/items/-",
    "/items/-1",
    "/metadata/labels",
    "/a",
    "",
    "/a/b",
)


def json_patch(seed: int) -> list[dict[str, Any]]:
    """Operations, many of them copies into what they copy."""
    random = Random(seed)
    operations: list[dict[str, Any]] = []
    for number in range(random.choice((1, 3, 30, 300))):
        name = random.choice(("copy", "copy", "copy", "add", "remove", "replace", "move", "test"))
        place = random.choice((*_PLACES, f"/data/k{number}", f"/items/{number}", "/items/0/l/-"))
        operation = {"op": name, "path": place, "from": random.choice(_PLACES)}
        if name in ("add", "replace", "test"):
            operation["value"] = random.choice(("x" * 1000, [1] * 100, {"k": {"k": [0]}}, None, 1))
        operations.append(operation)
    return operations


def strategic_patch(seed: int) -> dict[str, Any]:
    """A merge, with directives in odd places."""
    random = Random(seed)

    def part(depth: int) -> Any:
        if depth <= 0 or random.random() < 0.3:
            return random.choice((None, 1, "x", "x" * 1000, [1, 2], {}, []))
        if random.random() < 0.4:
            return [part(depth - 1) for _ in range(random.randint(0, 4))]
        keys = (
            "data",
            "metadata",
            "labels",
            "annotations",
            "name",
            "$patch",
            "$setElementOrder/items",
            "$retainKeys",
            "k",
        )
        return {random.choice(keys): part(depth - 1) for _ in range(random.randint(1, 4))}

    made = part(5)
    return made if isinstance(made, dict) else {"data": made}
