"""The directory of a run: all that submit, sample and plot leave on disk, and how it survives being killed.

Whole files (`run.json`, `submitted.json`, `sampled.json`) are replaced in one step, so a reader never sees half of one.
While a run is being submitted, each submission is also added to the *journal*, which alone counts after a crash; the
recorder adds a line per workload to the *timeline* in the same way. The last line of either may be cut off when its
writer was killed; it is then left out. One process at a time may submit into a directory: it holds a lock on the
journal.

Which files of an output directory were written by us, and so may be written again, stands in a small hidden file of the
directory. A file of any other origin is never replaced, unless that is
forced. Directories of earlier versions have no such list; where a run's record is, its results count as ours.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

import orjson

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Run, Sample, Submission

__all__ = ["Journal", "OwnFiles", "RunDirectory", "Timeline"]

_RECORDED = ("timeline.jsonl", "gpus.jsonl", "queues.jsonl", "devices.jsonl")
_RESULTS = ("sampled.json", *_RECORDED, "times.csv", "general.png", "detailed.png", "report.html")
_FILES = ("run.json", "submitted.json", "submitted.journal", *_RESULTS)


#: Steps that not every workload goes through.
_STOOD_IN_FOR = (
    "firstEvictionTimestamp",
    "firstPVCBindRequestTimestamp",
    "firstPVCBindTimestamp",
    "backendJobCreatedTimestamp",
)
_LIST = ".ghostfleet-files.json"
_RECORD = "run.json"


class RunDirectory:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Which files in it are ours.
        self.own = OwnFiles(path)

    # -- being there -------------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Create the directory where it is missing."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(f"cannot use {self.path} as output directory: {error.strerror}") from error

    def check_own(self) -> None:
        """Raise a LabError when a file that a run would write is somebody else's."""
        self.own.check(_FILES)

    def claim(self) -> None:
        """Take for ours all files that a run writes."""
        self.own.claim(_FILES, force=True)

    def require(self) -> None:
        """A directory that is read from must exist."""
        if not self.path.is_dir():
            raise LabError(f"there is no output directory {self.path}; `ghostfleet submit -o {self.path}` makes one")

    def clear(self) -> None:
        """Forget an earlier run."""
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        self.own.forget()

    # -- what was asked for ------------------------------------------------------------------------------------------

    def run(self) -> Run | None:
        """The record of the run; None when there is none."""
        raw = self._read("run.json")
        if raw is None:
            return None
        try:
            return Run.read(raw)
        except (TypeError, AttributeError) as error:
            raise LabError(f"{self.path / 'run.json'} is not the record of a run: {error}") from None

    def write_run(self, run: Run) -> None:
        self._write("run.json", run.written())

    # -- what was submitted ------------------------------------------------------------------------------------------

    def submissions(self) -> list[Submission]:
        """All submissions so far, in order; a later one of the same name replaces an earlier one."""
        found = {each.name: each for each in self._parsed("submitted.json", self._read("submitted.json") or [])}
        found |= {each.name: each for each in self._parsed("submitted.journal", self._lines("submitted.journal"))}
        return sorted(found.values(), key=lambda each: each.time)

    def require_submissions(self) -> list[Submission]:
        """All submissions; an error when there are none."""
        self.require()
        found = self.submissions()
        if not found:
            raise LabError(
                f"nothing has been submitted from {self.path} yet; `ghostfleet submit -o {self.path}` does it"
            )
        return found

    def write_submissions(self, submissions: Iterable[Submission]) -> None:
        self._write("submitted.json", [each.written() for each in submissions])

    def journal(self) -> Journal:
        """Where submissions are written down one by one."""
        return Journal(self.path / "submitted.journal")

    def _parsed(self, name: str, records: Any) -> list[Submission]:
        try:
            return [Submission.read(each) for each in records]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LabError(f"{self.path / name} is not a list of submissions: {error!r}") from None

    # -- what was measured -------------------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """What the last sample saw; an error when there is none yet."""
        self.require()
        found = self._read("sampled.json")
        if found is None:
            raise LabError(f"there are no samples in {self.path} yet; `ghostfleet sample -o {self.path}` takes them")
        if not isinstance(found, list) or not all(isinstance(each, dict) and "jobName" in each for each in found):
            raise LabError(f"{self.path / 'sampled.json'} is not a list of samples")
        return [_without_stand_ins(cast("dict[str, Any]", each)) for each in found]

    def earlier_samples(self) -> list[Sample]:
        """What the last sample saw, or nothing."""
        return self.samples() if (self.path / "sampled.json").exists() else []

    def write_samples(self, samples: Iterable[Sample]) -> None:
        self._write("sampled.json", [_with_stand_ins(each) for each in samples])

    def timeline(self) -> Timeline:
        """Where a recorder writes marks as it goes."""
        return Timeline(self.path / "timeline.jsonl")

    def marks(self) -> dict[str, dict[str, int]]:
        """The marks of each workload that recorders wrote down, by its name."""
        found: dict[str, dict[str, int]] = {}
        for line in self._lines("timeline.jsonl"):
            name = line.pop("jobName", "")
            if name in found:
                found[name] |= line
            else:
                found[name] = line
        return found

    def add_occupancy(self, series: dict[str, Any]) -> None:
        """Write down what one recorder saw of the cluster's GPUs."""
        lines = OccupancyFile(self.path / "gpus.jsonl")
        lines.add(series)
        lines.close()

    def occupancy(self) -> list[dict[str, Any]]:
        """What each recorder saw of the cluster's GPUs, one after the other."""
        return self._lines("gpus.jsonl")

    def add_queues(self, seen: dict[str, Any]) -> None:
        """Write down what one recorder saw of KAI's queues and of evictions."""
        lines = OccupancyFile(self.path / "queues.jsonl")
        lines.add(seen)
        lines.close()

    def queues(self) -> list[dict[str, Any]]:
        """What each recorder saw of KAI's queues, one after the other."""
        return self._lines("queues.jsonl")

    def add_devices(self, series: dict[str, Any]) -> None:
        """Write down what one recorder saw of the cluster's DRA devices."""
        lines = OccupancyFile(self.path / "devices.jsonl")
        lines.add(series)
        lines.close()

    def devices(self) -> list[dict[str, Any]]:
        """What each recorder saw of the cluster's DRA devices, one after the other."""
        return self._lines("devices.jsonl")

    # -- files -------------------------------------------------------------------------------------------------------

    def _read(self, name: str) -> Any:
        path = self.path / name
        try:
            return orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LabError(f"cannot read {path}: {error.strerror}") from error
        except orjson.JSONDecodeError as error:
            hint = (
                f"; it is left as it is: move it away, then `ghostfleet submit --resume -o {self.path}` makes it anew"
                if name == "submitted.json"
                else f"; it is left as it is: move it away, then `ghostfleet sample -o {self.path}` makes it anew"
                if name == "sampled.json"
                else ""
            )
            raise LabError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}{hint}") from None

    def _write(self, name: str, content: Any) -> None:
        path = self.path / name
        temporary = path.with_name(f".{name}.{os.getpid()}")
        try:
            temporary.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 if name == "run.json" else None))
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise LabError(f"cannot write {path}: {error.strerror}") from error

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """The records of a file that is only ever added to."""
        path = self.path / name
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LabError(f"cannot read {path}: {error.strerror}") from error
        # What stands after the last line end is a line whose writer was killed.
        found = []
        for number, line in enumerate(lines[:-1], 1):
            try:
                found.append(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                raise LabError(f"{path}: line {number}, column {error.colno}: {error.msg}") from None
        return found


def _with_stand_ins(sample: Sample) -> dict[str, Any]:
    """A sample as it is written: a step that was not seen has the time of the scheduling decision, as in Run:ai's tool.

    The plotter of that tool cannot read a time that is missing. `standIns` names such steps.
    """
    written = cast("dict[str, Any]", sample)
    decided = sample.get("podSchedulingDecisionTimestamp")
    missing = [step for step in _STOOD_IN_FOR if written.get(step) is None] if decided else []
    return {**written, **dict.fromkeys(missing, decided), "standIns": missing} if missing else written


def _without_stand_ins(written: dict[str, Any]) -> Sample:
    for step in written.pop("standIns", ()):
        written[step] = None
    return cast("Sample", written)


class _Added:
    """A file to which lines are added, each in one write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: IO[bytes] = path.open("ab", buffering=0)
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror}") from error
        self._mend()

    def _mend(self) -> None:
        """Cut off a last line that was not finished, so that the next one does not become part of it."""
        whole = self.path.read_bytes()
        if whole and not whole.endswith(b"\n"):
            self._file.truncate(whole.rfind(b"\n") + 1)

    def _add(self, records: Iterable[Any]) -> None:
        lines = b"".join([orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in records])
        try:
            self._file.write(lines)
        except OSError as error:
            raise LabError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        self._file.close()


class Journal(_Added):
    """Submissions as they happen; while it is open, no other process submits into the directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise LabError(f"another process is submitting into {path.parent}; wait for it or end it") from None

    def add(self, submissions: Iterable[Submission]) -> None:
        self._add(each.written() for each in submissions)

    def remove(self) -> None:
        """All is in `submitted.json` now."""
        self.path.unlink(missing_ok=True)


class Timeline(_Added):
    """Marks of workloads, each line with those of one."""

    def add(self, marks: Iterable[tuple[str, dict[str, int]]]) -> None:
        self._add({"jobName": name, **each} for name, each in marks)


class OccupancyFile(_Added):
    """What was seen over time of GPUs, queues or devices, each line by one recorder."""

    def add(self, series: dict[str, Any]) -> None:
        self._add([series])


class OwnFiles:
    """The files of one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def check(self, names: Iterable[str]) -> None:
        """Raise a LabError for a file that is there and is not ours."""
        known = self._known()
        foreign = [] if known is None else [name for name in names if self._exists(name) and name not in known]
        if foreign:
            raise LabError(
                f"{self._directory / foreign[0]} was not written by ghostfleet, and is left as it is: choose another "
                "output dir, move it away, or replace it with --force"
            )

    def claim(self, names: Iterable[str], *, force: bool = False) -> None:
        """Take files for ours before they are written, as far as they are not somebody else's."""
        names = list(names)
        if not force:
            self.check(names)
        self._write({*(self._known() or ()), *names})

    def forget(self) -> None:
        """No file is ours any more."""
        (self._directory / _LIST).unlink(missing_ok=True)

    def _exists(self, name: str) -> bool:
        return (self._directory / name).exists()

    def _known(self) -> set[str] | None:
        """Names of our files; None for a directory of an earlier version, in which all results are."""
        try:
            return set(orjson.loads((self._directory / _LIST).read_bytes()))
        except FileNotFoundError:
            return None if self._exists(_RECORD) else set()
        except (OSError, orjson.JSONDecodeError, TypeError):
            return set()

    def _write(self, names: set[str]) -> None:
        path = self._directory / _LIST
        temporary = path.with_name(f"{_LIST}.new")
        try:
            temporary.write_bytes(orjson.dumps(sorted(names)))
            temporary.replace(path)
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror}") from error
