"""The pages inside Airflow's own UI, in a real browser, over a history of 100,000 trials."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from clusterbench.history import database
from clusterbench_lab import Lab
from clusterbench_lab.bench.history import fill
from tests.airflow.ui import made_up
from tests.integration.browsing import log_in, made_up_history, shown_history

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

AIRFLOWS_OWN = "/ui/dags?limit=50&dag_runs_limit=14"
"""What Airflow's own list of DAGs asks for: it waits for the same processors as our pages, so the ratio holds."""
FIRST_PAGE_TIMES, PAGE_TIMES = 20, 10
ROUNDS = 5
RUN = made_up.run_id_of("key_value", made_up.LAST)
NO_CHANGE = """
INSERT INTO changes (week, position, series, measurement, state, change)
SELECT week, 10000 + row_number() OVER (), series, measurement, 'no_change', %s
FROM series_measurements JOIN series s USING (series) CROSS JOIN weeks
WHERE is_plotted AND s.scale <> 'full' AND weeks.run_id = %s"""
UNCHANGED = {"change": {"state": "no_change", "says": "no change shown", "interval_95_percent": [-1.0, 1.5]}}


@pytest.fixture(scope="module")
def history(lab_with_airflow: Lab) -> Iterator[None]:
    """A database of these tests' own, to which the connection leads for as long as they run."""
    lab_with_airflow.up()
    own = made_up_history(lab_with_airflow, "ui_browser")
    database.migrate(own)
    with database.connect(own) as db:
        fill(db, weeks=50, trials=2000)
        made_up.fill(db, weeks=16, scale="full")
        db.execute(NO_CHANGE, [json.dumps(UNCHANGED), made_up.week_run_id()])
        many = db.execute("SELECT count(*) FROM trials").fetchone()
        assert many is not None and many[0] >= 100_000
    with shown_history(lab_with_airflow, own):
        yield


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """Every address that the browser asked for."""
    return []


@pytest.fixture(scope="module")
def context(browser: Any, lab_with_airflow: Lab, history: None, asked: list[str]) -> Iterator[Any]:
    """A browser that has logged in through Airflow's own form, to which the pages have sent it."""
    found = browser.new_context(viewport={"width": 1400, "height": 900}, base_url=lab_with_airflow.airflow_url())
    found.set_default_timeout(60_000)
    found.on("request", lambda request: asked.append(request.url))
    log_in(found, "/bench/experiments/key_value", *lab_with_airflow.airflow_login())
    yield found
    found.close()


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    found = context.new_page()
    faults: list[str] = []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    yield found
    found.close()
    assert faults == []


@pytest.fixture
def inside(page: Any) -> Any:
    """The pages' frame, opened by the menu of Airflow's UI."""
    page.goto("/")
    page.get_by_role("link", name="Results", exact=True).click()
    frame = page.frame_locator("iframe")
    frame.locator("#headline").wait_for()
    return frame


def test_the_menu_leads_to_what_got_slower(page: Any, inside: Any, tmp_path: Path) -> None:
    said = inside.locator("#headline").inner_text()
    assert "got slower" in said and "vm4" in said and "95 % interval" in said.replace("\u202f", " ")
    assert inside.locator("table.latest tbody").count() >= 3
    picture = tmp_path / "first.png"
    page.screenshot(path=picture)
    assert picture.stat().st_size > 20_000


def test_a_result_is_found_and_opened_by_keyboard_alone(page: Any, inside: Any) -> None:
    tab_to(page, "Skip to the content")  # through Airflow's menu
    page.keyboard.press("Enter")
    tab_to(page, "key_value on vm4")
    outline = frame_of(page).evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    inside.locator("svg.chart").wait_for()
    assert "up" in inside.locator("svg.chart text.strong").first.text_content()
    assert "slower" in inside.locator("#verdict").inner_text().lower()
    assert "/plugin/bench/bench/series/key_value/full/vm4/" in page.url  # can be sent to somebody
    with page.expect_download() as download:
        inside.get_by_role("link", name="Download as CSV").click()
    assert Path(download.value.path()).read_text().startswith("run,started_at,valid")


def tab_to(page: Any, text: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if focused(page).startswith(text):
            return
    raise AssertionError(f"{text!r} is not reached by Tab")


def frame_of(page: Any) -> Any:
    return next(frame for frame in page.frames if "/bench" in frame.url and frame != page.main_frame)


def focused(page: Any) -> str:
    """Text of what has the focus in the pages' frame; nothing where it is elsewhere."""
    said = "document.activeElement === document.body ? '' : document.activeElement.textContent"
    return str(frame_of(page).evaluate(said)).strip()


def test_any_two_runs_are_chosen_and_compared(page: Any, inside: Any) -> None:
    inside.get_by_role("link", name="Compare runs").click()
    inside.locator("select[name=experiment]").select_option("key_value")
    inside.get_by_role("button", name="List its runs").click()
    page.wait_for_url("**/compare?experiment=key_value")
    former = made_up.run_id_of("key_value", made_up.LAST - made_up.timedelta(weeks=4))
    inside.locator("select[name=a]").select_option(f"key_value/{former}")
    inside.locator("select[name=b]").select_option(f"key_value/{RUN}")
    inside.get_by_role("button", name="Compare B with A").click()
    inside.locator(".verdict.higher-in-these-runs, .verdict.slower").first.wait_for()
    assert "kernel" in inside.locator(".box.warning").first.inner_text()


@pytest.mark.long
def test_links_lead_out_of_the_frame_to_airflows_own_pages(page: Any, inside: Any) -> None:
    page.goto(f"/plugin/bench/bench/runs/key_value/{RUN}")  # as somebody sent it
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="log of its task").first.click()
    page.wait_for_url(re.compile(r"/dags/key_value/runs/scheduled__.*/tasks/vm4\.trials/mapped/\d+"))
    assert page.locator("iframe").count() == 0


@pytest.mark.long
def test_colours_are_those_of_airflow_or_of_the_system(page: Any, inside: Any, context: Any) -> None:
    def background(of: Any) -> str:
        return str(of.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    shown = {}
    for theme in ("dark", "light"):
        page.evaluate(f"document.documentElement.className = '{theme}'")
        frame_of(page).wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        shown[theme] = background(frame_of(page))
    assert shown["dark"] != shown["light"]
    alone = context.new_page()
    for theme in ("dark", "light"):
        alone.emulate_media(color_scheme=theme)
        alone.goto("/bench/")
        assert background(alone) == shown[theme]
    alone.close()


@pytest.mark.long
def test_pages_are_quick_beside_airflows_own_and_nothing_comes_from_elsewhere(
    context: Any, page: Any, asked: list[str]
) -> None:
    page.goto("/bench/experiments/retail")
    series = page.locator("a[href*='/series/']").first.get_attribute("href")
    runs = page.locator("input[name=a]").evaluate_all("all => all.map(one => one.value)")
    bounds = {
        "/bench/": FIRST_PAGE_TIMES,
        "/bench/experiments/retail": PAGE_TIMES,
        series: PAGE_TIMES,
        f"/bench/runs/{runs[0]}": PAGE_TIMES,
        f"/bench/compare?a={runs[1]}&b={runs[0]}": PAGE_TIMES,
        "/bench/weeks": PAGE_TIMES,
    }
    rounds = [{address: seconds(page, address) for address in [AIRFLOWS_OWN, *bounds]} for _ in range(ROUNDS)]
    times = {address: median(took[address] / took[AIRFLOWS_OWN] for took in rounds) for address in bounds}
    assert {address: ratio for address, ratio in times.items() if ratio > bounds[address]} == {}, rounds
    origin = page.evaluate("location.origin")
    assert [url for url in asked if not url.startswith((f"{origin}/", f"blob:{origin}/", "data:"))] == []


def seconds(page: Any, address: str) -> float:
    """From the request to the last byte of the page."""
    answer = page.goto(address)
    assert answer.status == 200, address
    return float(page.evaluate("performance.getEntriesByType('navigation')[0].responseEnd")) / 1000
