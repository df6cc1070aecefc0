"""The status cache of the stage controller: what patches come to, without rendering or checking anything twice.

To play a stage the long way is to render its template, read the YAML, patch the object and have the API check it. For
most objects all of that has happened before: their templates depend on little (see `dependence`), and an object that is
the same in all of it, its *key*, has the same outcome, but for the time and some addresses (see `compiledpatch`). So
the long way is gone once for each key, and twice at that: with marks in the place of what differs, to compile the
patch, and for real; a compiled patch that does not give exactly what the real way gave is thrown away. A template that
hardly ever meets the same key again is no longer cached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotemplate import render_yaml
from ghostfleet.stages.compiledpatch import (
    HOST_MARKS,
    NAME_MARK,
    POD_MARKS,
    SECOND_MARK,
    TIME_MARK,
    CompiledPatch,
    Marker,
    Merger,
    StatusForm,
    compile_patch,
    form_of,
    mergers_of,
)
from ghostfleet.stages.dependence import Dependence, Path, dependence_of, extract, replaced
from ghostfleet.stages.funcmap import FuncMap, nano_time
from ghostfleet.stages.steps import Functions, Patch

__all__ = ["StatusCache"]

_MOST = 512
#: Bytes of a key that is kept, and there may be many.
_LONGEST_KEY = 65_536

#: All that matters to a template.
CacheKey = tuple[bytes | int | None, ...]
#: Merges a patch into the status of an object for real, or just tells what it would come to.
Merge = Callable[[Object, bool], Object]


class _Entry:
    """All that was learned for objects that are the same in what matters to the template."""

    __slots__ = ("_compiled", "_last", "mergers")

    def __init__(self, mergers: tuple[Merger, ...]) -> None:
        self.mergers = mergers
        self._compiled: dict[StatusForm, CompiledPatch | None] = {}
        self._last: tuple[Object, CompiledPatch | None] | None = None

    def compiled(self, old: Object) -> CompiledPatch | None:
        """The compiled patch for an old status."""
        last = self._last
        # Pods that were bound together have one status between them.
        if last is None or last[0] is not old:
            last = (old, self._compiled.get(form_of(old, self.mergers)))
            if last[1] is not None:
                self._last = last
        return last[1]

    def keep(self, old: Object, compiled: CompiledPatch | None) -> None:
        if len(self._compiled) >= _MOST:
            self._compiled.clear()
        self._compiled[form_of(old, self.mergers)] = compiled


class _Group:
    """Paths through one part of the object, such as its containers: what of it matters to a template."""

    __slots__ = ("_field", "_looked", "_memo", "_number", "_printed", "_top")

    def __init__(self, number: int, start: Path, looked: list[Path], printed: list[Path]) -> None:
        self._number = number
        self._top, self._field = start
        self._looked = looked
        self._printed = printed
        self._memo: dict[int, tuple[Any, bytes, dict[str, str]]] = {}

    def key_part(self, obj: Object, values: dict[str, str]) -> bytes | None:
        """What matters, as bytes; marks stand for what is only printed, and are added to `values`."""
        top = obj.get(self._top)
        part = top.get(self._field) if type(top) is dict else None
        if part is None:
            return None
        # Objects that were made alike share such parts, and never change them.
        known = self._memo.get(id(part))
        if known is None or known[0] is not part:
            known = self._drawn(obj, part)
        if known[2]:
            values.update(known[2])
        return known[1]

    def _drawn(self, obj: Object, part: Any) -> tuple[Any, bytes, dict[str, str]]:
        marker = Marker(obj)
        marker.begin(self._number)
        looked = [extract(part, path) for path in self._looked]
        printed = [marker.marked(extract(part, path)) for path in self._printed]
        known = (part, orjson.dumps((looked, printed)), marker.values)
        if not marker.own and type(part) in (dict, list):
            if len(self._memo) >= _MOST:
                self._memo.clear()
            self._memo[id(part)] = known
        return known

    def mark(self, obj: Object) -> Object:
        """The object with marks in this part of it, wherever it is only printed."""
        marker = Marker(obj)
        marker.begin(self._number)
        for path in self._printed:
            obj = replaced(obj, (self._top, self._field, *path), marker.marked)
        return obj


def _groups_of(dependence: Dependence) -> tuple[_Group, ...] | None:
    """The paths by the parts they lead through; None if one leads to more than a part."""
    groups: dict[Path, tuple[list[Path], list[Path]]] = {}
    for place, paths in enumerate((dependence.paths, dependence.printed)):
        for path in paths:
            if len(path) < 2 or path[0].startswith("[") or path[1].startswith("["):
                return None
            groups.setdefault(path[:2], ([], []))[place].append(path[2:])
    return tuple(
        _Group(number, start, looked, printed) for number, (start, (looked, printed)) in enumerate(groups.items())
    )


class _PatchCache:
    """What is known of one patch."""

    __slots__ = ("asks", "groups", "hits", "known", "misses")

    def __init__(self, dependence: Dependence | None) -> None:
        #: functions of the FuncMap whose answers are the object's own
        self.asks = tuple(name for name in dependence.volatile if name != "Now") if dependence is not None else ()
        self.groups = _groups_of(dependence) if dependence is not None else None
        self.known: dict[CacheKey, _Entry] = {}
        self.hits = self.misses = 0

    @property
    def worthwhile(self) -> bool:
        return self.groups is not None and (self.misses < _MOST or self.hits > 4 * self.misses)


class _Example(NamedTuple):
    """What is about to be learned, until it is seen what really comes out."""

    patch_cache: _PatchCache
    cache_key: CacheKey
    mergers: tuple[Merger, ...]
    old: Object
    values: dict[str, str]
    compiled: CompiledPatch | None

    def keep(self, new: Object) -> None:
        """Remember the compiled patch, if it gives just this."""
        compiled = self.compiled
        if compiled is not None and compiled.apply(self.old, self.values) != new:
            compiled = None
        patch_cache = self.patch_cache
        if len(patch_cache.known) >= _MOST:
            patch_cache.known.clear()
        patch_cache.known.setdefault(self.cache_key, _Entry(self.mergers)).keep(self.old, compiled)


class _Foreign(Exception):
    """A template asked for the addresses of another object."""


class StatusCache:
    """Outcomes of the patches of all stages."""

    def __init__(self, clock: Clock, funcmap: FuncMap) -> None:
        self._clock = clock
        self._funcmap = funcmap
        self._patch_caches: dict[Patch, _PatchCache] = {}

    def status(self, patch: Patch, obj: Object) -> Object | None:
        """The new status of an object; None if it is not known, and has to be learned."""
        patch_cache = self._patch_caches.get(patch)
        if patch_cache is None or patch_cache.groups is None:
            return None
        values: dict[str, str] = {}
        key_parts = [group.key_part(obj, values) for group in patch_cache.groups]
        if patch_cache.asks:
            self._add_volatile(patch_cache.asks, obj, values)
        known = patch_cache.known.get((*key_parts, len(values)))
        if known is None:
            return None
        old = obj.get("status") or {}
        compiled = known.compiled(old)
        if compiled is None:
            return None
        patch_cache.hits += 1
        now = self._clock.now()
        values[SECOND_MARK] = rfc3339(now)
        if compiled.exact:
            values[TIME_MARK] = nano_time(now)
        return compiled.apply(old, values)

    def fill(self, patch: Patch, obj: Object, type_: Type, merge: Merge, *, strategic: bool) -> None:
        """Go the long way, by `merge`, and remember what came out."""
        patch_cache = self._patch_caches.get(patch)
        if patch_cache is None:
            patch_cache = self._patch_caches[patch] = _PatchCache(dependence_of(patch.template.parts))
        known = self._example(patch_cache, patch, obj, type_, merge, strategic) if patch_cache.worthwhile else None
        new = merge(self._rendered(patch, obj, self._funcmap.functions), False)
        if known is not None:
            known.keep(new.get("status") or {})

    def _example(
        self, patch_cache: _PatchCache, patch: Patch, obj: Object, type_: Type, merge: Merge, strategic: bool
    ) -> _Example | None:
        """What a patch with marks in it would make of an object; None if that cannot be cached."""
        patch_cache.misses += 1
        values: dict[str, str] = {}
        shown = obj
        key_parts = []
        for group in patch_cache.groups or ():
            key_parts.append(group.key_part(obj, values))
            shown = group.mark(shown)
        if sum(len(part) for part in key_parts if part is not None) > _LONGEST_KEY:
            return None
        self._add_volatile(patch_cache.asks, obj, values)
        cache_key = (*key_parts, len(values))
        now = self._clock.now()
        values |= {SECOND_MARK: rfc3339(now), TIME_MARK: nano_time(now)}
        try:
            marked = self._rendered(patch, shown, self._marking(shown, _node_of(obj)))
        except (EvaluationError, _Foreign):
            patch_cache.groups = None
            return None
        change = marked.get("status")
        if not isinstance(change, dict):
            return None
        mergers = mergers_of(change, type_, strategic=strategic)
        old = obj.get("status") or {}
        try:
            compiled = compile_patch(old, change, merge(marked, True).get("status") or {}, mergers, values)
        except ApiError:
            # The marks do not go together with the object; the real values may.
            compiled = None
        return _Example(patch_cache, cache_key, mergers, old, values, compiled)

    def _add_volatile(self, asks: tuple[str, ...], obj: Object, values: dict[str, str]) -> None:
        """What functions of the FuncMap give for this object, by mark."""
        funcmap = self._funcmap
        for name in asks:
            if name == "NodeName":
                values[NAME_MARK] = funcmap.node_name()
            elif name.startswith("PodIP"):
                for address in funcmap.pod_ips():
                    values[POD_MARKS[":" in address]] = address
            elif name == "NodeIP":
                address = funcmap.node_ip()
                values[HOST_MARKS[":" in address]] = address
            else:
                for address in funcmap.node_ips(_node_of(obj)):
                    values[HOST_MARKS[":" in address]] = address

    def _rendered(self, patch: Patch, obj: Object, functions: Functions) -> Object:
        data = render_yaml(patch.template, obj, functions)
        return {patch.root: data} if patch.root else data

    def _marking(self, obj: Object, node: str) -> Functions:
        """Functions that give marks; arguments that are about another object end the rendering."""
        funcmap = self._funcmap
        metadata = obj["metadata"]
        host_network = bool((obj.get("spec") or {}).get("hostNetwork"))
        own = (_node_of(obj), host_network, metadata.get("uid", ""), metadata["name"], metadata.get("namespace", ""))

        def hosts(name: str) -> list[str]:
            if name != own[0]:
                raise _Foreign
            return [HOST_MARKS[":" in address] for address in funcmap.node_ips(node)]

        def pods(*arguments: Any) -> list[str]:
            if arguments and arguments != own:
                raise _Foreign
            return [POD_MARKS[":" in address] for address in funcmap.pod_ips()]

        return {
            **funcmap.functions,
            "Now": lambda: TIME_MARK,
            "NodeName": lambda: NAME_MARK,
            "NodeIP": lambda: HOST_MARKS[":" in funcmap.node_ip()],
            "NodeIPWith": lambda name: hosts(name)[0],
            "NodeIPsWith": hosts,
            "PodIP": lambda: pods()[0],
            "PodIPWith": lambda *arguments: pods(*arguments)[0],
            "PodIPsWith": pods,
        }


def _node_of(obj: Object) -> str:
    name: str = (obj.get("spec") or {}).get("nodeName", "")
    return name
