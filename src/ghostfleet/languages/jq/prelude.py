"""The functions of jq that are defined in jq.

Each definition is compiled when it is first called. Names with an underscore are functions of values that only these
definitions use.
"""

from __future__ import annotations

import re

__all__ = ["PRELUDE"]

_SOURCE = """
def add(f): reduce f as $x (null; . + $x);
def in(xs): . as $x | xs | has($x);
def from_entries:
    map({(.key // .Key // .name // .Name): if has("value") then .value else .Value end}) | add // {};
def with_entries(f): to_entries | map(f) | from_entries;
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type == ("array", "object"));
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def finites: select(isfinite);
def normals: select(isnormal);
def strings: select(type == "string");
def nulls: select(. == null);
def values: select(. != null);
def scalars: select(type as $t | $t != "array" and $t != "object");
def combinations: if length == 0 then [] else .[0][] as $x | [$x] + (.[1:] | combinations) end;
def combinations(n): . as $set | [range(n) | $set] | combinations;
def walk(f): def w: if type == "array" then map(w) elif type == "object" then map_values(w) end | f; w;
def first: .[0];
def last: .[-1];
def all(g; y): isempty(g | y | select(. | not));
def all(y): all(.[]; y);
def all: all(.[]; .);
def any(g; y): isempty(g | y | select(.)) | not;
def any(y): any(.[]; y);
def any: any(.[]; .);
def limit($n; g):
    if $n > 0 then label $out | foreach g as $item ($n; . - 1; $item, if . <= 0 then break $out else empty end)
    elif $n == 0 then empty
    else error("limit doesn't support negative count") end;
def skip($n; g):
    if $n > 0 then foreach g as $item ($n; . - 1; if . < 0 then $item else empty end)
    elif $n == 0 then g
    else error("skip doesn't support negative count") end;
def nth($n): .[$n];
def nth($n; g): if $n >= 0 then first(skip($n; g)) else error("nth doesn't support negative index") end;
def truncate_stream(f): . as $n | null | f | if .[0] | length > $n then .[0] |= .[$n:] else empty end;
def fromstream(f):
    foreach f as $event ({}; (if .done then {} end)
        | if $event | length == 2 then setpath(["value"] + $event[0]; $event[1]) | .done = ($event[0] | length == 0)
          else .done = ($event[0] | length == 1) end;
        if .done then .value else empty end);
def tostream:
    path(def r: (.[]? | r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def del(f): delpaths([path(f)]);
def paths: path(..) | select(. != []);
def paths(f): path(.. | select(f)) | select(. != []);
def pick(f): . as $v | reduce path(f) as $p (null; setpath($p; $v | getpath($p)));
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%S%z") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def todate: todateiso8601;
def match($re): _match($re; null; false) | .[];
def match($re; $flags): _match($re; $flags; false) | .[];
def test($re): _match($re; null; true);
def test($re; $flags): _match($re; $flags; true);
def capture($re): match($re) | .captures | _captures;
def capture($re; $flags): match($re; $flags) | .captures | _captures;
def scan($re): scan($re; null);
def scan($re; $flags): match($re; $flags + "g") | if .captures == [] then .string else [.captures[].string] end;
def splits($re; $flags):
    .[foreach (match($re; $flags + "g"), null) as $m
        ({}; {start: .next, end: $m.offset, next: ($m.offset + $m.length)}; {start, end})];
def splits($re): splits($re; null);
def split($re; $flags): [splits($re; $flags)];
def sub($re; str): sub($re; str; null);
def gsub($re; str): sub($re; str; "g");
def gsub($re; str; $flags): sub($re; str; $flags + "g");
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);
def JOIN($idx; f): [.[] | [., $idx[f]]];
def JOIN($idx; stream; f): stream | [., $idx[f]];
def JOIN($idx; stream; f; join): stream | [., $idx[f]] | join;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
"""


def _definitions() -> dict[str, str]:
    found = {}
    for source in re.split(r"\n(?=def )", _SOURCE.strip()):
        head = re.match(r"def (\w+)(?:\(([^)]*)\))?:", source)
        assert head is not None
        arity = head[2].count(";") + 1 if head[2] else 0
        found[f"{head[1]}/{arity}"] = source
    return found


#: source of each function, by name and number of arguments
PRELUDE = _definitions()
