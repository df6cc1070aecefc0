"""Foresight: the new status of an object, without rendering, reading or checking anything twice.

To play a stage the long way is to render its template, read the YAML, patch the object and have the API check it. For
most objects all of that has happened before: their templates depend on little (see `dependence`), and an object that is
the same in all of it has the same outcome, but for the time and some addresses (see `recipes`). So the long way is gone
once for each outcome, and twice at that: with marks in the place of what differs, to learn the recipe, and for real; a
recipe that does not give exactly what the real way gave is thrown away. A template that hardly ever meets the same
outcome again is no longer learned from.
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
from ghostfleet.languages.gotemplate.parser import parse
from ghostfleet.stages.dependence import Dependence, Path, dependence_of, extract, replaced
from ghostfleet.stages.marks import HOST_MARKS, NAME_MARK, POD_MARKS, SECOND_MARK, TIME_MARK, Marker
from ghostfleet.stages.recipes import Form, Merger, Recipe, form_of, learn, mergers_of
from ghostfleet.stages.steps import Functions, Patch
from ghostfleet.stages.templating import Surroundings, nano_time

__all__ = ["Foresight"]

_MOST = 512
#: Bytes of an outline that is kept, and there may be many.
_LONGEST_OUTLINE = 65_536

#: All that matters to a template.
Outline = tuple[bytes | int | None, ...]
#: Merges a patch into the status of an object for real, or just tells what it would come to.
Merge = Callable[[Object, bool], Object]


class _Everything:
    """Holds whatever one asks for: the functions of a template have been checked before."""

    def __contains__(self, _: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Known:
    """All that was learned for objects that are the same in what matters to the template."""

    __slots__ = ("_last", "_recipes", "mergers")

    def __init__(self, mergers: tuple[Merger, ...]) -> None:
        self.mergers = mergers
        self._recipes: dict[Form, Recipe | None] = {}
        self._last: tuple[Object, Recipe | None] | None = None

    def recipe(self, old: Object) -> Recipe | None:
        """The recipe for an old status."""
        last = self._last
        # Pods that were bound together have one status between them.
        if last is None or last[0] is not old:
            last = (old, self._recipes.get(form_of(old, self.mergers)))
            if last[1] is not None:
                self._last = last
        return last[1]

    def keep(self, old: Object, recipe: Recipe | None) -> None:
        if len(self._recipes) >= _MOST:
            self._recipes.clear()
        self._recipes[form_of(old, self.mergers)] = recipe


class _Group:
    """Paths through one part of the object, such as its containers: what of it matters to a template."""

    __slots__ = ("_field", "_looked", "_memo", "_number", "_printed", "_top")

    def __init__(self, number: int, start: Path, looked: list[Path], printed: list[Path]) -> None:
        self._number = number
        self._top, self._field = start
        self._looked = looked
        self._printed = printed
        self._memo: dict[int, tuple[Any, bytes, dict[str, str]]] = {}

    def outline(self, obj: Object, values: dict[str, str]) -> bytes | None:
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


class _Lesson:
    """What is known of one patch."""

    __slots__ = ("asks", "groups", "hits", "known", "misses")

    def __init__(self, dependence: Dependence | None) -> None:
        #: functions of the surroundings whose answers are the object's own
        self.asks = tuple(name for name in dependence.volatile if name != "Now") if dependence is not None else ()
        self.groups = _groups_of(dependence) if dependence is not None else None
        self.known: dict[Outline, _Known] = {}
        self.hits = self.misses = 0

    @property
    def worthwhile(self) -> bool:
        return self.groups is not None and (self.misses < _MOST or self.hits > 4 * self.misses)


class _Example(NamedTuple):
    """What is about to be learned, until it is seen what really comes out."""

    lesson: _Lesson
    outline: Outline
    mergers: tuple[Merger, ...]
    old: Object
    values: dict[str, str]
    recipe: Recipe | None

    def keep(self, new: Object) -> None:
        """Remember the recipe, if it gives just this."""
        recipe = self.recipe
        if recipe is not None and recipe.apply(self.old, self.values) != new:
            recipe = None
        lesson = self.lesson
        if len(lesson.known) >= _MOST:
            lesson.known.clear()
        lesson.known.setdefault(self.outline, _Known(self.mergers)).keep(self.old, recipe)


class _Foreign(Exception):
    """A template asked for the addresses of another object."""


class Foresight:
    """Outcomes of the patches of all stages."""

    def __init__(self, clock: Clock, surroundings: Surroundings) -> None:
        self._clock = clock
        self._surroundings = surroundings
        self._lessons: dict[Patch, _Lesson] = {}

    def status(self, patch: Patch, obj: Object) -> Object | None:
        """The new status of an object; None if it is not known, and has to be learned."""
        lesson = self._lessons.get(patch)
        if lesson is None or lesson.groups is None:
            return None
        values: dict[str, str] = {}
        outlines = [group.outline(obj, values) for group in lesson.groups]
        if lesson.asks:
            self._add_volatile(lesson.asks, obj, values)
        known = lesson.known.get((*outlines, len(values)))
        if known is None:
            return None
        old = obj.get("status") or {}
        recipe = known.recipe(old)
        if recipe is None:
            return None
        lesson.hits += 1
        now = self._clock.now()
        values[SECOND_MARK] = rfc3339(now)
        if recipe.exact:
            values[TIME_MARK] = nano_time(now)
        return recipe.apply(old, values)

    def learn(self, patch: Patch, obj: Object, type_: Type, merge: Merge, *, strategic: bool) -> None:
        """Go the long way, by `merge`, and remember what came out."""
        lesson = self._lessons.get(patch)
        if lesson is None:
            lesson = self._lessons[patch] = _Lesson(dependence_of(parse(patch.template.text, _Everything())))
        known = self._example(lesson, patch, obj, type_, merge, strategic) if lesson.worthwhile else None
        new = merge(self._rendered(patch, obj, self._surroundings.functions), False)
        if known is not None:
            known.keep(new.get("status") or {})

    def _example(
        self, lesson: _Lesson, patch: Patch, obj: Object, type_: Type, merge: Merge, strategic: bool
    ) -> _Example | None:
        """What a patch with marks in it would make of an object; None if that is not to be foreseen."""
        lesson.misses += 1
        values: dict[str, str] = {}
        shown = obj
        outlines = []
        for group in lesson.groups or ():
            outlines.append(group.outline(obj, values))
            shown = group.mark(shown)
        if sum(len(part) for part in outlines if part is not None) > _LONGEST_OUTLINE:
            return None
        self._add_volatile(lesson.asks, obj, values)
        outline = (*outlines, len(values))
        now = self._clock.now()
        values |= {SECOND_MARK: rfc3339(now), TIME_MARK: nano_time(now)}
        try:
            marked = self._rendered(patch, shown, self._marking(shown, _node_of(obj)))
        except (EvaluationError, _Foreign):
            lesson.groups = None
            return None
        change = marked.get("status")
        if not isinstance(change, dict):
            return None
        mergers = mergers_of(change, type_, strategic=strategic)
        old = obj.get("status") or {}
        try:
            recipe = learn(old, change, merge(marked, True).get("status") or {}, mergers, values)
        except ApiError:
            # The marks do not go together with the object; the real values may.
            recipe = None
        return _Example(lesson, outline, mergers, old, values, recipe)

    def _add_volatile(self, asks: tuple[str, ...], obj: Object, values: dict[str, str]) -> None:
        """What functions of the surroundings give for this object, by mark."""
        surroundings = self._surroundings
        for name in asks:
            if name == "NodeName":
                values[NAME_MARK] = surroundings.node_name()
            elif name.startswith("PodIP"):
                for address in surroundings.pod_ips():
                    values[POD_MARKS[":" in address]] = address
            elif name == "NodeIP":
                address = surroundings.node_ip()
                values[HOST_MARKS[":" in address]] = address
            else:
                for address in surroundings.node_ips(_node_of(obj)):
                    values[HOST_MARKS[":" in address]] = address

    def _rendered(self, patch: Patch, obj: Object, functions: Functions) -> Object:
        data = render_yaml(patch.template, obj, functions)
        return {patch.root: data} if patch.root else data

    def _marking(self, obj: Object, node: str) -> Functions:
        """Functions that give marks; arguments that are about another object end the rendering."""
        surroundings = self._surroundings
        metadata = obj["metadata"]
        host_network = bool((obj.get("spec") or {}).get("hostNetwork"))
        own = (_node_of(obj), host_network, metadata.get("uid", ""), metadata["name"], metadata.get("namespace", ""))

        def hosts(name: str) -> list[str]:
            if name != own[0]:
                raise _Foreign
            return [HOST_MARKS[":" in address] for address in surroundings.node_ips(node)]

        def pods(*arguments: Any) -> list[str]:
            if arguments and arguments != own:
                raise _Foreign
            return [POD_MARKS[":" in address] for address in surroundings.pod_ips()]

        return {
            **surroundings.functions,
            "Now": lambda: TIME_MARK,
            "NodeName": lambda: NAME_MARK,
            "NodeIP": lambda: HOST_MARKS[":" in surroundings.node_ip()],
            "NodeIPWith": lambda name: hosts(name)[0],
            "NodeIPsWith": hosts,
            "PodIP": lambda: pods()[0],
            "PodIPWith": lambda *arguments: pods(*arguments)[0],
            "PodIPsWith": pods,
        }


def _node_of(obj: Object) -> str:
    name: str = (obj.get("spec") or {}).get("nodeName", "")
    return name
