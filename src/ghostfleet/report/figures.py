"""`general.png` and `detailed.png`: the delays of phases as pictures.

Each phase is a row: on the left its delay over the time of submission, a dot for each workload and a line through the
middle of them; on the right how many workloads had which delay, with the median and the 99th percentile marked. The
general picture has one row, the whole time to the scheduling decision (and to the backend's job where that is known);
the detailed one has a row for each step up to the last pod running. matplotlib is imported only when a picture is
drawn, and only its object interface is used.
"""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ghostfleet.core.timestamps import MICRO
from ghostfleet.report.moments import PHASES, Phase
from ghostfleet.report.phases import Measured
from ghostfleet.report.series import bin_edges
from ghostfleet.report.words import span
from ghostfleet.report.workloads import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PLOTS", "Plot", "can_draw", "figure_of", "figure_png", "rows_of"]

Plot = Literal["general", "detailed"]
PLOTS: tuple[Plot, ...] = ("general", "detailed")

#: How long a workload runs is its own affair, so the detailed picture ends when it runs.
_DETAILED = tuple(phase.key for phase in PHASES if not phase.total and phase.key != "finished")
_GENERAL = ("totalDecided", "totalBackendJob")
_BINS = 40
_SLICES = 80
_BLUE, _RED, _GREY, _INK = "#3b6fb6", "#c4472f", "#d9dee5", "#1f2933"
_STYLE: dict[Any, Any] = {
    "date.converter": "concise",
    "font.size": 10.0,
    "text.color": _INK,
    "axes.labelcolor": "#4a5560",
    "axes.edgecolor": "#aab4be",
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.fontsize": 9.0,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "grid.color": _GREY,
    "grid.linewidth": 0.6,
    "xtick.color": "#4a5560",
    "ytick.color": "#4a5560",
}


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def rows_of(plot: Plot, measured: Measured) -> list[Phase]:
    """The phases that a picture shows."""
    wanted = _GENERAL if plot == "general" else _DETAILED
    return [phase for phase in measured.phases if phase.key in wanted]


def figure_png(plot: Plot, measured: Measured) -> bytes:
    """A picture as a PNG file; there must be at least one row to draw."""
    from matplotlib import rc_context

    with rc_context(_STYLE):
        content = io.BytesIO()
        figure_of(plot, measured).savefig(content, format="png", metadata={"Software": "ghostfleet"})
    return content.getvalue()


def figure_of(plot: Plot, measured: Measured) -> Figure:
    """A picture as matplotlib has it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = rows_of(plot, measured)
    submitted = measured.workloads.at("submitted")
    height = 3.6 if plot == "general" else 2.3
    layout = ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.12)
    figure = Figure(figsize=(16, 0.7 + height * len(rows)), dpi=100, layout=layout)
    FigureCanvasAgg(figure)
    figure.suptitle(f"Total number of jobs run: {measured.counts.measured}", fontsize=18)
    for (left, right), phase in zip(figure.subplots(len(rows), 2, squeeze=False), rows, strict=True):
        delays = measured.delays[phase.key]
        known = ~np.isnan(delays)
        title = f"{phase.sentence} (average: {delays[known].mean():.2f} seconds)"
        _draw_over_time(left, submitted[known], delays[known])
        left.set_title(title)
        _draw_histogram(right, delays[known])
        right.set_title(title)
    return figure


def _draw_over_time(axes: Axes, submitted: Column, delays: Column) -> None:
    times = (submitted * MICRO).astype("datetime64[us]")
    many = len(times) > 3000
    size, strength = (2.2, 0.3) if many else (4.0, 0.55)
    axes.plot(times, delays, ".", color=_BLUE, markersize=size, alpha=strength, markeredgewidth=0, rasterized=True)
    axes.plot(*_middle(submitted, delays), color=_RED, linewidth=1.3, label="median")
    axes.legend(loc="upper left")
    axes.set_xlabel("Submit time (UTC)")
    axes.set_ylabel("Time (seconds)")
    axes.set_ylim(bottom=min(0.0, float(delays.min())), top=_headroom(delays))


def _middle(submitted: Column, delays: Column) -> tuple[npt.NDArray[np.datetime64], Column]:
    """The median delay in each of some slices of equally many workloads."""
    slices = np.array_split(np.arange(len(submitted)), min(_SLICES, max(1, len(submitted) // 5)))
    middles = np.array([submitted[part].mean() for part in slices])
    return (middles * MICRO).astype("datetime64[us]"), np.array([np.median(delays[part]) for part in slices])


def _draw_histogram(axes: Axes, delays: Column) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.hist(delays, bins=bin_edges(delays, _BINS).tolist(), color=_BLUE, alpha=0.85)
    for percent, style in ((50, "-"), (99, "--")):
        value = float(np.percentile(delays, percent))
        axes.axvline(value, color=_RED, linewidth=1.1, linestyle=style, label=f"p{percent} {span(value)}")
    axes.legend(loc="upper right")
    axes.set_xlabel("Time (seconds)")
    axes.set_ylabel("Number of jobs")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))


def _headroom(delays: Column) -> float:
    return float(delays.max()) * 1.2 or 1.0
