"""report.html in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from ghostfleet.report.page import report_page
from ghostfleet.report.phases import measure
from ghostfleet.report.workloads import join

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip("no browser: none of chromium, chromium-browser, google-chrome is installed")
    with sync_api.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(session_runs):
    path = session_runs.home / "report.html"
    limits = [{"component": "Job controller", "limit": "20 requests/s", "seconds": 61.0, "waits": 9}]
    record = session_runs.record(600, 60, limits=limits)
    path.write_text(report_page(session_runs.measured(600, gpus=60), record, session_runs.usage(600, 60)))
    return path


class Visit:
    """A page, with all that it complained about and asked for."""

    def __init__(self, browser: Any, path: Any, **options: Any) -> None:
        self.page = browser.new_page(**options)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def looks(self, name: str) -> str:
        """A chart, as pixels."""
        return self.page.locator(f'[data-chart="{name}"] canvas').evaluate("canvas => canvas.toDataURL()")


@pytest.fixture
def visit(browser, written) -> Iterator[Visit]:
    visit = Visit(browser, written, viewport={"width": 1280, "height": 900})
    yield visit
    visit.page.close()
    assert visit.complaints == []
    assert visit.requests == [written.as_uri()]


def test_all_charts_are_drawn_without_a_complaint_or_a_request(visit):
    assert visit.page.evaluate("document.documentElement.dataset.charts") == "6"
    for canvas in visit.page.locator("canvas").all():
        assert (
            canvas.evaluate(
                "each => new Set(new Uint32Array(each.getContext('2d').getImageData(0, 0, each.width, each.height).data.buffer)).size"
            )
            > 3
        )


def test_hovering_tells_values_and_the_workload(visit):
    plot = visit.page.locator('[data-chart="totals"] .u-over')
    plot.scroll_into_view_if_needed()
    plot.hover()
    legend = visit.page.locator('[data-chart="totals"] .u-legend').inner_text()
    assert "j-" in legend
    assert "s" in legend.split("Last Pod Running")[1]


def test_dragging_zooms_and_a_button_zooms_out(visit):
    plot = visit.page.locator('[data-chart="rates"] .u-over')
    plot.scroll_into_view_if_needed()
    reset = visit.page.locator("figure", has=plot).get_by_role("button", name="Zoom out")
    assert not reset.is_visible()
    box = plot.bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 40)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=5)
    visit.page.mouse.up()
    assert reset.is_visible()
    # Charts over the same time are zoomed together.
    assert visit.page.get_by_role("button", name="Zoom out").filter(visible=True).count() == 3
    reset.click()
    assert not reset.is_visible()


def test_a_series_is_toggled_by_mouse_and_by_keyboard(visit):
    before = visit.looks("rates")
    name = visit.page.locator('[data-chart="rates"]').get_by_role("button", name="Finished")
    assert name.get_attribute("aria-pressed") == "true"
    name.click()
    hidden = visit.page.locator('[data-chart="rates"] [aria-pressed=false]')
    hidden.wait_for()
    assert hidden.count() == 1
    assert visit.looks("rates") != before
    name.press("Enter")
    hidden.wait_for(state="detached")


def test_another_phase_can_be_looked_at(visit):
    before = visit.looks("histogram")
    visit.page.get_by_text("Job Creation", exact=True).locator("visible=true").first.scroll_into_view_if_needed()
    visit.page.locator(".choices").get_by_text("Job Creation", exact=True).click()
    assert visit.page.locator(".drawn").inner_text().startswith("Time between Workload Creation and Job Creation.")
    assert visit.looks("histogram") != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_follows_the_preferred_colours(browser, written, scheme):
    visit = Visit(browser, written, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 390
    background = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in background[4:-1].split(",")) > 600) == (scheme == "light")
    assert visit.complaints == []
    visit.page.close()


@pytest.mark.parametrize("heading", ["why", "phases"])
def test_tables_are_read_on_a_phone_without_scrolling_sideways(browser, written, heading):
    visit = Visit(browser, written, viewport={"width": 390, "height": 800})
    tables = visit.page.locator(f"section[aria-labelledby={heading}] .scroll")
    assert tables.count() == 1
    assert tables.evaluate("each => each.scrollWidth <= each.clientWidth")
    cells = tables.locator("td, tbody th").all()
    assert len(cells) >= 4
    for cell in cells:
        box = cell.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        # No word is broken in two: what is shown is as wide as its longest word, at least.
        assert cell.evaluate("each => each.scrollWidth <= each.clientWidth + 1")
    visit.page.close()


def test_a_hostile_name_does_nothing(browser, session_runs):
    marks = session_runs.marks(workload=1, decided=2, bound=2, running=3)
    sample = session_runs.sample(HOSTILE, marks, failure=HOSTILE, node=HOSTILE)
    path = session_runs.home / "hostile.html"
    path.write_text(report_page(measure(join([session_runs.submission(HOSTILE)], [sample])), None))
    visit = Visit(browser, path)
    assert visit.page.evaluate("window.hacked") is None
    assert HOSTILE in visit.page.locator("main").inner_text()
    assert visit.complaints == []
    visit.page.close()


def test_an_empty_run_has_a_page_without_charts(browser, session_runs):
    path = session_runs.home / "empty.html"
    path.write_text(report_page(measure(join([session_runs.submission("j")], [])), None))
    visit = Visit(browser, path)
    assert visit.complaints == []
    assert visit.page.locator("canvas").count() == 0
    assert not visit.page.get_by_text("Each phase closely").is_visible()
    visit.page.close()
