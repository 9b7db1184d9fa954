"""The pages over a real history and real object storage, for people who may see all of it, some of it, or nothing."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator
from html import unescape
from typing import Any

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.routing import Mount

from clusterbench.airflow.ui.app import build, pages
from clusterbench.airflow.ui.going_on import AirflowNow
from clusterbench.airflow.ui.page_request import Airflow
from clusterbench.base.connections import Connection, Connections, from_file
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.run_ids import run_id_from
from clusterbench.history import database, write
from clusterbench.history.host_speeds import COLUMNS
from clusterbench_lab import Lab
from tests.airflow.ui import made_up
from tests.airflow.ui.made_up_now import NOTHING_GOES_ON, now_with, run_of, task
from tests.integration.browsing import links, made_up_history, walk
from tests.integration.helpers import archive_of

pytestmark = pytest.mark.lab

LOGIN = "/api/v2/auth/login"
RUN = made_up.run_id_of("key_value", made_up.LAST)
WEEK = made_up.week_run_id()


@pytest.fixture(scope="module")
def kept(lab: Lab) -> Connections:
    lab.up(airflow=False)
    history = made_up_history(lab, "ui_pages")
    database.migrate(history)
    with database.connect(history) as db:
        made_up.fill(db, weeks=16)
        write.copy_rows(db, "host_speeds", COLUMNS, made_up.host_speeds_of(hosts=80, times=20))
    others = from_file(lab.lab_dir / "connections.json")
    archive_of(others, "key_value", RUN).put_new("report.html", b"<h1>The report</h1><script>alert(1)</script>")
    return lambda conn_id: history if conn_id == database.CONNECTION_ID else others(conn_id)


def client(
    connections: Connections, allowed: Collection[str] | None = None, now: AirflowNow = NOTHING_GOES_ON
) -> TestClient:
    """Of somebody who says who they are in a header; ``allowed`` are the DAGs they may read, else all.

    ``now``: what Airflow's database is to tell. The real one is asked in test_airflow.py.
    """

    def user(request: Request) -> str:
        if name := request.headers.get("x-user"):
            return name
        raise HTTPException(401)

    def may_read(_: Any, asked: Collection[str]) -> set[str]:
        return set(asked) if allowed is None else set(asked) & set(allowed)

    def look(dag_ids: Collection[str], dag_run_id: str | None) -> AirflowNow:
        found = [run for run in now.runs if run.dag_id in dag_ids and dag_run_id in (None, run.dag_run_id)]
        return dataclasses.replace(now, runs=found)

    app = build(Airflow(user=user, may_read=may_read, login=LOGIN, connections=connections, look=look))
    made = TestClient(Starlette(routes=[Mount("/bench", app)]), follow_redirects=False, raise_server_exceptions=False)
    made.headers["x-user"] = "somebody"
    return made


@pytest.fixture
def everybody(kept: Connections) -> Iterator[TestClient]:
    with client(kept) as made:
        yield made


def test_nobody_sees_anything_without_a_login(kept: Connections) -> None:
    """All routes there are, by walking them: one that is added later is in here, too."""
    stranger = client(kept)
    del stranger.headers["x-user"]
    paths = [route.path for route in pages.routes]  # type: ignore[attr-defined]
    assert len(paths) >= 13
    for path in paths:
        address = "/bench" + re.sub(r"\{\w+\}", "x", path) + "?a=b"
        answer = stranger.get(address)
        assert answer.status_code == 303, path
        assert (
            answer.headers["location"]
            == f"{LOGIN}?next={address.replace('/', '%2F').replace('?', '%3F').replace('=', '%3D')}"
        )
        assert stranger.get(address, headers={"Authorization": "Bearer bad"}).status_code == 401
    for address in ("docs", "redoc", "openapi.json"):
        assert stranger.get(f"/bench/{address}").status_code == 404


def test_the_pages_only_read(everybody: TestClient) -> None:
    for route in pages.routes:
        assert route.methods <= {"GET", "HEAD"}  # type: ignore[attr-defined]
    assert everybody.post("/bench/").status_code == 405


def test_every_link_of_every_page_leads_to_a_page(everybody: TestClient) -> None:
    """Three of each kind. Reports of made-up runs are not in the archive."""

    def get(address: str) -> tuple[int, str, str]:
        answer = everybody.get(address)
        return answer.status_code, answer.headers["content-type"], answer.text

    seen, kinds = walk(["/bench/"], get)
    lost = {address for address, status in seen.items() if status != 200}
    assert all(re.search(r"/report(\.html)?$|/weeks/[^/]+$", address) for address in lost), lost
    assert "/bench/platforms/vm4/hosts" in seen
    assert kinds >= {("experiments", 3), ("runs", 4), ("series", 7), ("series", 8), ("weeks", 3), ("compare", 2)}


def test_no_page_asks_for_anything_from_elsewhere(everybody: TestClient) -> None:
    for address in ("/bench/", f"/bench/runs/key_value/{RUN}", "/bench/compare", "/bench/weeks", "/bench/nothing"):
        answer = everybody.get(address)
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', answer.text)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert not re.search(r"<script>| style=| on\w+=", answer.text)


def test_a_stranger_can_say_what_got_slower_by_how_much_and_how_certain_that_is(everybody: TestClient) -> None:
    page = unescape(everybody.get("/bench/").text).replace("\u202f", " ")
    headline = re.search(r'id="headline">(.*?)</p>', page, re.DOTALL)
    assert headline is not None
    said = headline[1]
    assert re.search(r"\d+ results got slower", said)
    assert re.search(r"(rose|fell) by \d", said) and "vm4" in said
    assert "95 % interval: " in said and "very strong evidence" in said
    assert "6.1.0-25-amd64" in page and "6.1.0-31-amd64" in page


def test_slow_host_is_named_and_stands_first_among_its_peers(everybody: TestClient) -> None:
    page = unescape(everybody.get("/bench/platforms/vm4/hosts").text).replace("\u202f", " ")
    assert re.search(r"1 result slower than it should be", page)
    assert re.search(r"segment7: memory (39|40|41) % slower than its 79 peers", page)
    rows = re.findall(r'<tr><th scope="row">(\w+)</th>', page)
    assert rows[:4] == ["segment7", "segment1", "segment2", "segment3"] and len(rows) == 64
    assert "16 other hosts are not in the table" in page
    assert page.count('class="chart"') == 2 and page.count('class="spark"') == 128


def test_hosts_of_a_platform_are_for_those_who_may_read_one_of_its_experiments(kept: Connections) -> None:
    address = "/bench/platforms/vm4/hosts"
    assert client(kept, allowed={"key_value"}).get(address).status_code == 200
    refused = client(kept, allowed={"terasort"}).get(address)
    assert refused.status_code == 403 and "key_value" not in refused.text
    assert client(kept).get("/bench/platforms/vm1/hosts").status_code == 404
    assert "'host_speed'" in unescape(client(kept).get("/bench/platforms/nothing/hosts").text)


def test_only_experiments_are_shown_whose_dag_the_visitor_may_read(kept: Connections) -> None:
    some = client(kept, allowed={"retail", "weekly"})
    first = some.get("/bench/").text
    assert "/experiments/retail" in first and "key_value" not in first
    assert "/experiments/retail" in some.get("/bench/experiments/retail").text + first
    series = links(client(kept).get("/bench/experiments/key_value").text, "/bench/series/")[0]
    for address in (
        "/bench/experiments/key_value",
        f"/bench/runs/key_value/{RUN}",
        f"/bench/runs/key_value/{RUN}/report",
        f"/bench/runs/key_value/{RUN}/report.html",
        series,
        f"{series}/points.csv",
        f"/bench/compare?a=key_value/{RUN}&b=key_value/{RUN}",
        f"/bench/compare?experiment=retail&a=key_value/{RUN}",
        "/bench/compare?experiment=key_value",
        f"/bench/weeks/{WEEK}",
        f"/bench/weeks/{WEEK}/report.html",
    ):
        answer = some.get(address)
        assert answer.status_code == 403, address
        assert "may not read the DAG key_value" in answer.text
    assert WEEK not in some.get("/bench/weeks").text
    stranger = client(kept, allowed=())
    for unknown in ("/bench/weeks/nothing", "/bench/runs/nothing/nothing", "/bench/now/nothing/nothing"):
        assert stranger.get(unknown).status_code == 403, "whether there is one is not for everybody either"
    assert "<option" not in client(kept, allowed=()).get("/bench/compare").text


def test_a_report_can_be_looked_at_and_does_nothing(everybody: TestClient) -> None:
    answer = everybody.get(f"/bench/runs/key_value/{RUN}/report.html")
    assert answer.text.startswith("<h1>The report</h1>")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    around = everybody.get(f"/bench/runs/key_value/{RUN}/report").text
    assert f'src="/bench/runs/key_value/{RUN}/report.html"' in around and " sandbox>" in around


def test_a_run_tells_what_failed_and_where_its_log_is(everybody: TestClient) -> None:
    page = everybody.get(f"/bench/runs/key_value/{RUN}").text
    assert "timed out after 600 s: no answer from segment3" in page
    assert "39 of 40" in page
    logs = links(page, "/dags/key_value/runs/scheduled__")
    assert any(re.search(r"/tasks/vm4\.trials/mapped/\d+$", link) for link in logs)
    assert f"s3://clusterbench/key_value/{RUN}/" in page


def test_two_runs_compared_tell_facts_before_ratios(everybody: TestClient) -> None:
    former = made_up.run_id_of("key_value", made_up.LAST - made_up.timedelta(weeks=3))
    page = everybody.get(f"/bench/compare?a=key_value/{former}&b=key_value/{RUN}").text
    changed = page.split('id="pair-3"')[1]
    assert changed.index("Facts that differ") < changed.index("% slower")
    rows = re.findall(r'class="verdict ([\w-]+)">', changed)
    assert rows[0] == "slower" and "no-difference-shown" in rows


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/bench/experiments/nothing", 404, "No run of an experiment"),
        ("/bench/runs/key_value/nothing", 404, "clusterbench history load key_value/nothing"),
        ("/bench/series/key_value/laptop/vm4/0000000000/p95", 404, "Choose a result"),
        ("/bench/weeks/nothing", 404, "no weekly run"),
        ("/bench/compare?a=key_value/x&b=key_value/y", 404, "Choose another one"),
        ("/bench/experiments/key_value?before=soon", 400, "valid datetime"),
        ("/bench/nothing", 404, "no such page"),
        ("/bench/runs/terasort/" + made_up.run_id_of("terasort", made_up.LAST), 404, "history load"),
    ],
)
def test_what_is_not_there_is_told_in_words(everybody: TestClient, address: str, status: int, said: str) -> None:
    answer = everybody.get(address)
    assert answer.status_code == status
    assert said in unescape(answer.text)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_without_a_history_a_newcomer_is_told_what_to_do(kept: Connections, lab: Lab) -> None:
    def none(conn_id: str) -> Connection:
        raise ClusterbenchError(f"unknown connection {conn_id!r}: add it in Airflow under Admin, Connections")

    def away(conn_id: str) -> Connection:
        return dataclasses.replace(kept(conn_id), port=1)

    empty = made_up_history(lab, "ui_empty")
    untouched = client(lambda _: empty).get("/bench/")
    assert untouched.status_code == 503 and "history load" in untouched.text
    database.migrate(empty)
    newcomer = client(lambda _: empty).get("/bench/")
    assert newcomer.status_code == 200 and "There are no results yet" in newcomer.text
    for address in ("/bench/", "/bench/weeks"):  # Airflow shows the button that they tell of to everybody
        assert "roles user, op and admin, not viewer" in client(lambda _: empty).get(address).text
    for connections, said in ((none, "Admin, Connections"), (away, "cannot be reached")):
        answer = client(connections).get("/bench/")
        assert answer.status_code == 503 and said in answer.text and "Traceback" not in answer.text


# Runs that are going on.


def test_what_a_run_waits_for_is_on_its_page_and_on_the_first_and_the_weekly_page(kept: Connections) -> None:
    run = run_of("key_value", tasks=[task("lab_db1.trials", "queued", 3, queued_s_ago=61)])
    somebody = client(kept, now=now_with(run))
    for address in ("/bench/now", f"/bench/now/key_value/{run.dag_run_id}", "/bench/", "/bench/weeks"):
        said = unescape(somebody.get(address).text)
        assert "lab_db1.trials 3 has been queued for 61 s, and no worker has begun it" in said, address


def test_a_run_that_is_going_on_is_shown_although_history_and_archive_are_away(kept: Connections) -> None:
    def away(conn_id: str) -> Connection:
        raise ClusterbenchError(f"{conn_id} is away")

    run = run_of("key_value", tasks=[task("open_run", "running")])
    somebody = client(away, now=now_with(run))
    assert "open_run" in somebody.get("/bench/now").text
    refused = somebody.get("/bench/")
    assert refused.status_code == 503 and "/bench/now" in refused.text


def test_address_of_a_run_that_has_no_results_yet_leads_to_how_far_it_is(kept: Connections) -> None:
    run = run_of("key_value", tasks=[task("open_run", "running")])
    answer = client(kept, now=now_with(run)).get(f"/bench/runs/key_value/{run_id_from(run.asked_at, run.dag_run_id)}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/bench/now/key_value/{run.dag_run_id}")


def test_runs_of_experiments_that_somebody_may_not_read_are_not_shown(kept: Connections) -> None:
    runs = run_of("key_value", tasks=[task("open_run", "running")]), run_of("retail", tasks=[])
    somebody = client(kept, allowed={"retail"}, now=now_with(*runs))
    said = somebody.get("/bench/now").text
    assert "retail" in said and "key_value" not in said
    assert somebody.get(f"/bench/now/key_value/{runs[0].dag_run_id}").status_code == 403


def test_a_run_that_airflow_does_not_know_and_a_dag_that_is_no_benchmark_are_told_as_that(kept: Connections) -> None:
    somebody = client(kept)
    assert "Airflow knows no run" in somebody.get("/bench/now/key_value/r1").text
    answer = somebody.get("/bench/now/example_bash/r1")
    assert answer.status_code == 404 and "none of clusterbench" in answer.text
