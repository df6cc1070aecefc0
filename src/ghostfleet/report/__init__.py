"""Reports: from the files of a run to figures, tables and a page.

`write_report` makes everything for one run and answers a `Summary`; `summary_lines` is its text for a terminal.
"""

from ghostfleet.report.phases import PhaseFigures, WorkloadCounts
from ghostfleet.report.tables import summary_lines
from ghostfleet.report.writing import Summary, write_report

__all__ = ["PhaseFigures", "Summary", "WorkloadCounts", "summary_lines", "write_report"]
