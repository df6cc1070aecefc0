"""Own files: which files of an output directory were written by us, and so may be written again.

The names stand in a small hidden file of the directory. A file of any other origin is never replaced, unless that is
forced. Directories of earlier versions have no such list; where a run's record is, its results count as ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import orjson

from ghostfleet.lab.errors import LabError

__all__ = ["OwnFiles"]

_LIST = ".ghostfleet-files.json"
_RECORD = "run.json"


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
