"""`report.html`: the whole report in one file that needs nothing but a browser.

Figures and tables are plain HTML; charts are drawn by uPlot, whose script and style are part of the file. A content
security policy names the two scripts by their hashes and allows nothing to be loaded, so the page does the same offline
as online, and a hostile name in the data can do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from string import Template

from ghostfleet import __version__
from ghostfleet.lab.records import Run
from ghostfleet.report.breakdown import break_down
from ghostfleet.report.classes import ClassFigures, class_section
from ghostfleet.report.devices import DeviceFigures, device_section
from ghostfleet.report.markup import Markup, element, embedded, joined
from ghostfleet.report.payload import chart_data
from ghostfleet.report.phases import Measured
from ghostfleet.report.queues import QueueReport, queue_section
from ghostfleet.report.sections import (
    breakdown_bars,
    cards,
    facts,
    limit_table,
    phase_table,
    problem_table,
    slowest_table,
    speeds,
    subtitle,
)
from ghostfleet.report.series import slices
from ghostfleet.report.usage import Usage

__all__ = ["report_page"]


def report_page(
    measured: Measured,
    run: Run | None,
    usage: Usage | None = None,
    classes: Sequence[ClassFigures] = (),
    queues: QueueReport | None = None,
    devices: DeviceFigures | None = None,
) -> str:
    """The text of the file; `classes` are those of a run's mix, `queues` KAI's."""
    over = slices(measured.workloads) if len(measured.workloads) else None
    data = chart_data(measured, over, usage, queues, devices) if over is not None else None
    breakdown = break_down(measured)
    library, script = _file("uPlot.iife.min.js"), _file("report.js")
    headline = subtitle(run, measured.counts)
    return Template(_file("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src {_hash(library)} {_hash(script)}",
        title=joined(f"Scale test: {headline}"),
        headline=joined(headline),
        style=_file("uPlot.min.css") + _file("report.css"),
        cards=cards(measured, over, usage),
        speeds=speeds(run, over),
        breakdown=breakdown_bars(breakdown) if breakdown else element("p", "Nothing has been scheduled yet."),
        why=limit_table(run, usage),
        phases=phase_table(measured.figures),
        classes=class_section(classes),
        queues=queue_section(queues),
        devices=device_section(devices),
        charts=_charts(data is not None, usage, queues, devices),
        slowest=slowest_table(measured),
        problems=problem_table(measured),
        facts=facts(run, measured),
        version=joined(__version__),
        data=embedded(data),
        licence=joined(_file("uPlot.LICENSE")),
        library=library,
        script=script,
    )


def _charts(any_data: bool, usage: Usage | None, queues: QueueReport | None, devices: DeviceFigures | None) -> Markup:
    """The places where the script draws, each with words that say what is to be seen."""
    if not any_data:
        return element("p", "There is nothing to draw yet: the sample holds no workload of this run.")
    places = [
        (
            "totals",
            "Time since submission",
            "Each point is a workload: how long it took from its submission to each moment.",
        ),
        ("rates", "Throughput", "Workloads a second that were submitted, scheduled, started and finished."),
        ("queue", "Waiting and running", "How many workloads wait to be placed, start up, and run."),
    ]
    if usage is not None:
        places.append(("gpus", "GPUs in use", _about_gpus(usage)))
    if queues is not None:
        about = "GPUs that the pods of each queue of KAI's hold; the fair share of a queue can be shown too."
        places.append(("queues", "Queues", about))
    if devices is not None:
        words = "DRA devices that claims hold, of all that slices publish."
        places.append(("devices", "Devices allocated", words))
    return joined(*(_chart(*each) for each in places))


def _about_gpus(usage: Usage) -> str:
    held = "GPUs that pods hold, from being bound to a node until they have ended"
    if not usage.recorded:
        return f"{held}: the pods of this run that were still there when it was sampled."
    text = f"{held}: those of the run and all others."
    if usage.request:
        text += f" Stranded are free ones that a request for {usage.request}, the largest so far, cannot use."
    return text


def _chart(name: str, title: str, text: str) -> Markup:
    return element(
        "figure",
        element("figcaption", element("h3", title), element("p", text)),
        element("div", class_="chart", data_chart=name, role="img", aria_label=f"Chart: {title}. {text}"),
    )


def _file(name: str) -> str:
    return resources.files("ghostfleet.report").joinpath("data", name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
