"""The catalogue: where stages come from.

Stages are *loaded* from files in which KWOK keeps them (several documents; those of other kinds, such as the
configuration of KWOK itself, are left out with a note), from directories of such files, or by the names of the *sets*
that come with Ghostfleet: `fast` without delays, `general` with delays that objects can set by annotation, `chaos`,
which makes things fail that ask for it by label, `clusterloader`, which is `fast` but that the pods of Jobs run for as
long as they are told to sleep, `stress`, whose pods take about ten seconds to start and ten to end,
and `kind`, which is `general` but that containers that start together on a node slow each other down. Several sources
can be joined with `+`, as in `fast+chaos`; a file or directory that is called like a set is written `./fast`. A stage
of the same name for the same kind replaces one that came before it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.manifests import ManifestError, expand_lists, load_documents
from ghostfleet.stages.stage import Compatibility, Stage, StageError, is_stage, parse_stage
from ghostfleet.stages.values import Warn

__all__ = ["StageSet", "built_in_sets", "join", "load_stages", "stage_definition", "stage_documents"]

_DATA = Path(__file__).parent / "data"
_SETS = ("chaos", "clusterloader", "fast", "general", "kind", "stress")
#: Sets that hold only what is different from another.
_BASES = {"clusterloader": "fast", "kind": "general"}
_ENDINGS = (".yaml", ".yml", ".json")
_NOT_STAGES = "kustomization"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StageSet:
    """Stages, and what is to be said about them."""

    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()


def built_in_sets() -> tuple[str, ...]:
    """Names of the sets that come with Ghostfleet."""
    return _SETS


def load_stages(
    source: str | Path | Iterable[str | Path], *, compatibility: Compatibility = "0.8", warn: Warn = _log.warning
) -> StageSet:
    """The stages of a set, file or directory, or of several; StageError names the stage that cannot be loaded."""
    stages: list[Stage] = []
    notes: list[str] = []
    for place in _places(source):
        for path in _files(place):
            loaded = _load_file(path, compatibility, warn)
            stages += loaded.stages
            notes += loaded.notes
    joined = join(stages)
    if not joined:
        raise StageError(f"{source}: found no stages")
    return StageSet(tuple(joined), tuple(notes))


def stage_documents(source: str | Path | Iterable[str | Path]) -> list[Object]:
    """The same stages as objects, to be applied to a cluster where KWOK itself plays them.

    Nodes live by the set `fast` if nothing is said about them.
    """
    loaded = load_stages(source)
    places = _places(source)
    if not any(stage.kind == "Node" and stage.api_version == "v1" for stage in loaded.stages):
        places += [path for path in _files(_DATA / "fast") if path.stem.startswith("node-")]
    named: dict[str, Object] = {}
    for place in places:
        for path in _files(place):
            for document in expand_lists(load_documents(path.read_bytes(), str(path))):
                if is_stage(document.object):
                    named[document.object["metadata"]["name"]] = document.object
    return list(named.values())


def join(stages: Iterable[Stage]) -> list[Stage]:
    """The stages, the last of each name and kind only, in the place of the first."""
    named: dict[tuple[str, str, str], Stage] = {}
    for stage in stages:
        named[stage.api_version, stage.kind, stage.name] = stage
    return list(named.values())


def _places(source: str | Path | Iterable[str | Path]) -> list[Path]:
    if isinstance(source, Path):
        return [source]
    if not isinstance(source, str):
        return [path for each in source for path in _places(each)]
    if source not in _SETS and Path(source).exists():
        return [Path(source)]
    places = []
    for part in source.split("+"):
        if part in _BASES:
            places.append(_DATA / _BASES[part])
        path = _DATA / part if part in _SETS else Path(part)
        if not path.exists():
            raise StageError(f"{part}: neither a file or directory nor one of the sets {', '.join(_SETS)}")
        places.append(path)
    return places


def _files(place: Path) -> Sequence[Path]:
    if place.is_file():
        return [place]
    return sorted(
        path
        for path in place.iterdir()
        if path.is_file() and path.suffix in _ENDINGS and not path.stem.lower().startswith(_NOT_STAGES)
    )


def _load_file(path: Path, compatibility: Compatibility, warn: Warn) -> StageSet:
    stages: list[Stage] = []
    notes: list[str] = []
    try:
        documents = list(expand_lists(load_documents(path.read_bytes(), str(path))))
    except (OSError, ManifestError) as error:
        raise StageError(str(error)) from None
    for document in documents:
        obj = document.object
        if not is_stage(obj):
            notes.append(f"{path}: line {document.line}: {_called(obj)} is not a stage, and left out")
            continue
        stage = parse_stage(obj, source=f"{path}, line {document.line}", compatibility=compatibility, warn=warn)
        stages.append(stage)
        notes += stage.notes
    return StageSet(tuple(stages), tuple(notes))


def _called(obj: Object) -> str:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = obj.get("kind") or "an object without a kind"
    return f"{kind} {name!r}" if name else str(kind)


@lru_cache(maxsize=1)
def _definition() -> Any:
    path = _DATA / "stage-definition.yaml"
    return load_documents(path.read_bytes(), str(path))[0].object


def stage_definition() -> Object:
    """The CustomResourceDefinition with which `kubectl apply` takes stages."""
    definition: Object = _definition()
    return definition
