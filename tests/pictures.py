"""``python -m tests.pictures [NAME …]``: the pictures of the pages, made from the present code with a headless Chromium.

What they show is made up by the tests, or a captured run among their fixtures; so whoever changes the words of a page
can make its picture again. ``ui`` starts a lab with Airflow for it, which takes some minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import sync_playwright

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.paths import built_in_root
from clusterbench.history import database
from clusterbench.report.run.page import render_report
from clusterbench.report.week.page import render_week
from clusterbench_lab import temporary_lab
from tests import BLOCK, weeks
from tests.airflow.ui import made_up
from tests.integration.browsing import log_in, made_up_history, shown_history
from tests.report.test_report import CAPTURED, CATALOG, Folder

PICTURES = built_in_root() / "docs" / "pictures"
WIDE = {"width": 1400, "height": 1000}
MARGIN_PX = 24
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
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", **options)
    print(PICTURES / f"{name}.png", flush=True)


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
        shoot(page, "weekly", full_page=True)


def report(browser: Any) -> None:
    """The beginning of the report of a captured run of key_value, in which trials failed."""
    with shown(browser, report_of("key_value", "s1"), 1200) as page:
        between(page, "report", "h1", "#sweep-optimizer")


def retail(browser: Any) -> None:
    """The comparison of platforms in the report of a captured run."""
    with shown(browser, report_of("retail", "l1"), 1285) as page:
        between(page, "retail", "#platforms-response_time_s", "#sweep-full_scan")


def ui(browser: Any) -> None:
    """The pages inside Airflow, over a made-up history of a year."""
    with temporary_lab(block=BLOCK, airflow=True) as lab:
        own = made_up_history(lab, "pictures")
        database.migrate(own)
        with database.connect(own) as db:
            made_up.fill(db)
        with shown_history(lab, own):
            context = browser.new_context(viewport=WIDE, base_url=lab.airflow_url())
            context.set_default_timeout(60_000)
            log_in(context, "/bench/experiments/key_value", *lab.airflow_login())
            of_ui(context.new_page())
            context.close()


def of_ui(page: Any) -> None:
    page.goto("/")
    page.get_by_role("link", name="Results", exact=True).click()
    inside = page.frame_locator("iframe")
    inside.locator("#headline").wait_for()
    shoot(page, "ui")
    inside.get_by_role("link", name="key_value on vm4").first.click()
    inside.locator("svg.chart").wait_for()
    shoot(page, "ui_series")


ALL: dict[str, Draw] = {"weekly": weekly, "report": report, "retail": retail, "ui": ui}


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
