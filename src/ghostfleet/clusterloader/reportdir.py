"""The report directory: what tests leave behind, under ClusterLoader2's names.

`<summary>_<config>[_<scenario>]_<time>.json` for each summary, `generatedConfig_<config>[_<scenario>].yaml`,
`cl2-metadata.json` and `junit.xml`. Two summaries of one name and second would be one file in ClusterLoader2; here the
second one has a number behind its time.
"""

from __future__ import annotations

import re
from pathlib import Path

from ghostfleet import __version__
from ghostfleet.clusterloader.compiling import CompiledTest, generated_config
from ghostfleet.clusterloader.results import TestResult
from ghostfleet.clusterloader.summaries import pretty_json
from ghostfleet.core.manifests import dump
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import ClusterInfo
from ghostfleet.lab.errors import LabError

__all__ = ["ReportDirectory"]

_UNFIT = re.compile(r"[/\x00]")


class ReportDirectory:
    """Writes the files of a report."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: set[str] = set()

    def make(self) -> None:
        """Have the directory; a LabError if that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(f"cannot make the report directory {self.path}: {error.strerror}") from None

    def write_test(self, test: CompiledTest, result: TestResult) -> None:
        """Write what one test leaves behind: its summaries, and the config that it was run with."""
        distinct = _distinct(result)
        self.write(f"generatedConfig_{distinct}.yaml", dump(generated_config(test.config)))
        for summary in result.summaries:
            stem = f"{summary.name}_{distinct}_{rfc3339(summary.time)}"
            name, number = f"{stem}.{summary.extension}", 2
            while name in self._names:
                name, number = f"{stem}-{number}.{summary.extension}", number + 1
            self._names.add(name)
            self.write(name, summary.content)

    def write_page(self, result: TestResult, several: bool, page: str) -> None:
        """Write the page of a test; where there are several tests, each has its own."""
        self.write(f"report_{_distinct(result)}.html" if several else "report.html", page)

    def write_metadata(self, info: ClusterInfo, nodes: int) -> None:
        """Write what the tests were run with and on."""
        metadata = {
            "ghostfleetVersion": __version__,
            "kubernetesVersion": info.version,
            "nodes": nodes,
            "clock": info.clock,
            **({"profile": info.profile} if info.profile else {}),
        }
        self.write("cl2-metadata.json", pretty_json(metadata))

    def write(self, name: str, content: str) -> Path:
        path = self.path / _UNFIT.sub("-", name)
        try:
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror}") from None
        return path


def _distinct(result: TestResult) -> str:
    """What tells the files of a test from those of others."""
    return f"{result.config_name}_{result.identifier}" if result.identifier else result.config_name
