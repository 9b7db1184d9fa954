"""The page of a run in windows of several widths and on paper, in a real browser: nothing is cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.report.run.page import render_report
from tests import density_run, order_entry_run
from tests.report.test_report import CAPTURED, CATALOG, Folder

WINDOW_PX, PHONE_PX = 1200, 400
PAPER_PX = 957
"""A4 with margins of a centimetre, as Chromium lays it out before it scales it to the sheet."""
WIDER_THAN_SHOWN = """() => {
    document.querySelectorAll("details").forEach(one => one.open = true);
    const wide = [document.documentElement, ...document.querySelectorAll(".scroll")];
    return wide.filter(one => one.scrollWidth > one.clientWidth + 1).map(
        one => `${one.closest("section")?.id ?? "page"}: ${one.scrollWidth} in ${one.clientWidth} px`);
}"""


def captured(root: Path) -> Path:
    return CAPTURED / "key_value" / "s1"


@pytest.fixture(
    scope="module",
    params=[captured, order_entry_run.write, density_run.write],
    ids=["key_value", "order_entry", "tpcds_density"],
)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Any]:
    """The report of a run: of one platform, of three with many measurements, and of scenarios."""
    write = cast(Callable[[Path], Path], request.param)
    folder = write(tmp_path_factory.mktemp("run"))
    archive = RunArchive(cast(Store, Folder(folder.parents[1])), folder.parent.name, folder.name)
    shown = browser.new_page()
    shown.set_content(render_report(archive, CATALOG))
    yield shown
    shown.close()


def test_no_table_is_cut_off_in_a_window(page: Any) -> None:
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": WINDOW_PX, "height": 900})
    assert page.evaluate(WIDER_THAN_SHOWN) == []


def test_no_table_is_cut_off_on_paper(page: Any) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER_PX, "height": 900})
    assert page.evaluate(WIDER_THAN_SHOWN) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_wide_tables_scroll_and_show_that_they_do(page: Any, theme: str) -> None:
    page.emulate_media(media="screen", color_scheme=theme)
    page.set_viewport_size({"width": PHONE_PX, "height": 900})
    wide = page.evaluate(WIDER_THAN_SHOWN)
    assert wide and not [one for one in wide if one.startswith("page")]
    shadows = page.locator(".scroll").first.evaluate("one => getComputedStyle(one).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll"
