"""Which projects the API server shows, and to whose pages the tab of a DAG run leads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterbench.airflow.ui import plugin
from clusterbench.base.paths import PROJECT_FILE


@pytest.fixture
def dags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Airflow's folder of DAGs."""
    monkeypatch.setattr(plugin.conf, "get", lambda *_, **__: str(tmp_path))
    plugin.projects.cache_clear()
    yield tmp_path
    plugin.projects.cache_clear()


def _project(folder: Path, name: str, prefix: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROJECT_FILE).write_text(f"project: {name}\ndag_prefix: '{prefix}'\n")


def test_the_one_that_the_folder_is_in(dags: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _project(dags, "ours")
    (dags / "dags").mkdir()
    monkeypatch.setattr(plugin.conf, "get", lambda *_, **__: str(dags / "dags"))
    assert plugin.projects() == {"ours": dags}
    assert [app["url_prefix"] for app in plugin._apps()] == ["/bench"]
    assert [view["name"] for view in plugin._menu()] == ["Results"]


def test_those_that_are_in_the_folder_and_none_that_is_broken(dags: Path) -> None:
    _project(dags / "sales", "sales", "sales_")
    _project(dags / "teams" / "ops", "ops", "ops_")
    _project(dags / "broken", "Broken!")
    assert set(plugin.projects()) == {"ops", "sales"}
    assert [app["url_prefix"] for app in plugin._apps()] == ["/bench/sales", "/bench/ops", "/bench"]
    assert [view["name"] for view in plugin._menu()] == ["Results of sales", "Results of ops"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/now/sales_smoke/manual__1", 307, "/bench/sales/now/sales_smoke/manual__1"),
        ("/now/sales_eu_smoke/manual__1", 307, "/bench/sales_eu/now/sales_eu_smoke/manual__1"),
        ("/now/foreign/manual__1", 404, "Several projects share this Airflow: its menu"),
        ("/", 404, "Several projects share this Airflow"),
    ],
)
def test_the_tab_of_a_run_leads_to_the_project_whose_dag_it_is(dags: Path, path: str, status: int, said: str) -> None:
    _project(dags / "sales", "sales", "sales_")
    _project(dags / "sales_eu", "sales_eu", "sales_eu_")
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": f"/bench{path}", "root_path": "/bench", "headers": []}
    asyncio.run(plugin.lead_on(scope, None, send))
    assert sent[0]["status"] == status
    text = dict(sent[0]["headers"]).get(b"location", sent[1].get("body", b"")).decode()
    assert said in text
    assert status == 307 or "sales" not in text, "it is asked without a login"
