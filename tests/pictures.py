"""``python -m tests.pictures [NAME …]``: the pictures of the pages, from the present code, with a headless Chromium.

What they show is made up by the tests, or a captured run among their fixtures; so whoever changes the words of a page
can make its picture again. ``ui`` starts a lab with Airflow for it, which takes some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import Any, cast

from PIL import Image
from playwright.sync_api import sync_playwright

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.database_work import WorkChange
from clusterbench.base.paths import built_in_root
from clusterbench.base.plans import PlanChange
from clusterbench.history import database
from clusterbench.history.confirmation import Confirmation
from clusterbench.report.run.page import render_report
from clusterbench.report.week.page import render_week
from clusterbench.results.facts_compared import Difference
from clusterbench_lab import Lab, temporary_lab
from tests import BLOCK, weeks
from tests.airflow.ui import made_up
from tests.integration.browsing import log_in, made_up_history, shown_history
from tests.report.test_report import CAPTURED, CATALOG, Folder

PICTURES = built_in_root() / "docs" / "pictures"
WIDE = {"width": 1400, "height": 1000}
MARGIN_PX = 24
BETWEEN = "section:not(.box):not(.found):not(#trust):not(#sweep-table_size)"
Draw = Callable[[Any], None]
"""Draws with a browser."""


def report_of(experiment: str, run_id: str) -> str:
    """The page of a captured run."""
    return render_report(RunArchive(cast(Store, Folder(CAPTURED)), experiment, run_id), CATALOG)


@contextmanager
def shown(browser: Any, html: str, width: int) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_content(html)
    yield page
    page.close()


def shoot(page: Any, name: str, **options: Any) -> None:
    """With 256 colours, which makes a picture a third as large and looks the same."""
    PICTURES.mkdir(exist_ok=True)
    path = PICTURES / f"{name}.png"
    taken = Image.open(BytesIO(page.screenshot(**options))).convert("RGB")
    taken.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path, flush=True)


def between(page: Any, name: str, first: str, last: str) -> None:
    """What lies between the beginning of one element and the beginning of another, or the end of the page."""
    top = page.locator(first).first.bounding_box()["y"] - MARGIN_PX
    below = page.locator(last).first.bounding_box() if last else None
    bottom = below["y"] if below else page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]
    shoot(page, name, full_page=True, clip={"x": 0, "y": max(0, top), "width": width, "height": bottom - max(0, top)})


def weekly(browser: Any) -> None:
    """A made-up week in which results got slower, and one experiment did not come about."""
    with shown(browser, render_week(weeks.usual()), 1200) as page:
        between(page, "weekly", "h1", "h2:has-text('What the words mean')")


def why(browser: Any) -> None:
    """Three made-up results that got slower: a setting and a plan changed, and somebody held locks."""
    setting = Difference("engine.settings.log_min_duration_statement", "engine", "-1", "0", True)
    told = Confirmation(
        "confirmed", "confirmed: measured again in 6 runs at once, -49 %", 6, -49.0, (-51.0, -47.0), 1e-5
    )
    plan = PlanChange("query 64", "Index Scan using item_key on item", "Seq Scan on item")
    judged = [
        replace(
            weeks.judged("statement: protocol parse", step=-0.5, since=1, level=67480.0, p=1e-7, facts=(setting,)),
            confirmation=told,
        ),
        replace(
            weeks.judged(
                "lite: 4 streams",
                experiment="tpcds_density",
                platform="lab_ideal",
                measurement="response_time_s",
                title="Response time",
                unit="s",
                level=42.6,
                step=0.12,
                facts=(),
                seed=5,
            ),
            plans=(plan,),
            made_of="query 64 is 71 % of the difference",
        ),
        replace(
            weeks.judged("concurrency: 50 clients, warm", step=-0.14, facts=(), seed=7),
            work=(WorkChange("sessions_waiting_for_locks", 0.0, 2.0),),
            held_by="locks held by nightly_backup (LOCK TABLE orders)",
        ),
    ]
    week = weeks.week(judged=judged, ran=weeks.usual().ran, airflow_url="http://airflow.example:8080")
    with shown(browser, render_week(week), 1200) as page:
        between(page, "why", "h2", "h2 >> nth=1")


def report(browser: Any) -> None:
    """Of the report of a captured run of key_value on a busy machine: its head, its checks, and its first result."""
    with shown(browser, report_of("key_value", "table_size"), 1200) as page:
        page.evaluate(f"document.querySelectorAll({BETWEEN!r}).forEach(one => one.remove())")
        between(page, "report", "h1", "#sweep-table_size details")


def retail(browser: Any) -> None:
    """The comparison of platforms in the report of a captured run."""
    with shown(browser, report_of("retail", "l1"), 1285) as page:
        between(page, "retail", "#platforms-response_time_s", "#platforms-response_time_s tbody tr:nth-of-type(11)")


def ui(browser: Any) -> None:
    """The pages inside Airflow, over a made-up history of a year."""
    with temporary_lab(block=BLOCK, airflow=True) as lab:
        of_lab(browser, lab)


def of_lab(browser: Any, lab: Lab) -> None:
    own = made_up_history(lab, "pictures")
    database.migrate(own)
    with database.connect(own) as db:
        made_up.fill(db)
    with shown_history(lab, own):
        context = browser.new_context(viewport=WIDE, base_url=lab.airflow_url())
        context.set_default_timeout(60_000)
        log_in(context, "/bench/experiments/key_value", *lab.airflow_login())
        of_pages(context.new_page())
        context.close()


def of_pages(page: Any) -> None:
    page.goto("/")
    page.get_by_role("link", name="Results", exact=True).click()
    inside = page.frame_locator("iframe")
    inside.locator("#headline").wait_for()
    shoot(page, "ui")
    inside.get_by_role("link", name="key_value on vm4").first.click()
    inside.locator("svg.chart").wait_for()
    shoot(page, "ui_series")


ALL: dict[str, Draw] = {"weekly": weekly, "why": why, "report": report, "retail": retail, "ui": ui}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description=__doc__)
    parser.add_argument("name", nargs="*", choices=[[], *ALL], help="which; all unless given")
    names = parser.parse_args().name or list(ALL)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name in names:
            ALL[name](browser)
        browser.close()


if __name__ == "__main__":
    main()
