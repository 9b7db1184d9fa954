"""Airflow's API as the command line speaks to it, against a server that answers as a real one did."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clusterbench.airflow.api import PASSWORDS_FILE, AirflowApi
from clusterbench.base.errors import AirflowApiError, AirflowAwayError


class Server(ThreadingHTTPServer):
    """Gives tokens t1, t2, …; only ``good`` opens; ``status`` is of every answer but to the login."""

    good, status, given = "t1", 200, 0
    tries_until_read = 0
    """How often it is asked to start a run before it has read its DAGs."""
    dag: dict[str, Any] | None = None
    """What it says of ``smoke``."""
    may_edit = True


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/v2/dags/smoke/dagRuns":
            self.server.tries_until_read -= 1
            is_read = self.server.tries_until_read < 0
            self.answer(*((200, {"dag_run_id": "manual__1"}) if is_read else (404, {"detail": "no such DAG"})))
            return
        self.server.given += 1
        self.answer(201, {"access_token": f"t{self.server.given}"})

    def do_PATCH(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.may_edit and self.server.dag:
            self.server.dag |= said
        self.answer(200 if self.server.may_edit else 403, self.server.dag or {})

    def do_GET(self) -> None:
        if self.headers["Authorization"] != f"Bearer {self.server.good}":
            self.answer(401, {"detail": "Not authenticated"})
        elif self.path == "/api/v2/dags/smoke" and self.server.dag:
            self.answer(200, self.server.dag)
        elif self.path == "/api/v2/importErrors":
            self.answer(200, {"import_errors": [{"stack_trace": "benchmarks.py: no module named x\n"}]})
        else:
            self.answer(self.server.status, {"detail": "as told"})

    def answer(self, status: int, said: dict[str, Any]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def api_of(server: Server) -> AirflowApi:
    return AirflowApi(f"http://127.0.0.1:{server.server_port}", "admin", "x")


def test_a_login_that_has_run_out_is_made_anew(server: Server) -> None:
    api = api_of(server)
    assert api.health() == {"detail": "as told"}
    server.good = "t2"
    assert api.health() == {"detail": "as told"}
    assert server.given == 2


def test_a_login_that_opens_nothing_is_tried_once_more_and_refused(server: Server) -> None:
    server.good = "none"
    with pytest.raises(AirflowApiError, match="refused: 401 Not authenticated"):
        api_of(server).health()
    assert server.given == 2


def test_who_is_away_is_told_from_who_refuses(server: Server) -> None:
    api = api_of(server)
    server.status = 404
    with pytest.raises(AirflowApiError, match="refused: 404 as told") as refused:
        api.health()
    assert not isinstance(refused.value, AirflowAwayError)
    server.status = 503
    with pytest.raises(AirflowAwayError, match=r"failed: 503 as told; is its database up\?"):
        api.health()


def test_nobody_there_is_away() -> None:
    with Server(("127.0.0.1", 0), Handler) as gone:
        api = api_of(gone)
    with pytest.raises(AirflowAwayError, match=r"cannot be reached: .*'make up' starts the lab's"):
        api.health()


def test_an_airflow_that_has_just_started_is_given_time_to_read_its_dags(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.tries_until_read = 1
    api = api_of(server)
    assert api.trigger("smoke", {}) == "manual__1"
    assert capsys.readouterr().err == "waiting for Airflow to read its DAGs: it does not know 'smoke' yet\n"
    assert api.trigger("smoke", {}) == "manual__1"
    assert capsys.readouterr().err == ""


def test_a_dag_that_never_comes_is_told_with_what_fails(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterbench.airflow.api.DAG_WAIT_S", 0)
    server.tries_until_read = 9
    with pytest.raises(
        AirflowApiError, match=r"has no DAG 'smoke', 0 s after .* fails there: benchmarks.py: no module"
    ):
        api_of(server).trigger("smoke", {})


@pytest.mark.parametrize("schedule", [None, "None"], ids=["newest", "oldest"])
def test_a_paused_experiment_is_unpaused_once_as_else_its_run_would_wait_for_ever(
    server: Server, schedule: str | None
) -> None:
    server.dag = {"is_paused": True, "timetable_summary": schedule}
    api = api_of(server)
    assert api.unpause("smoke") == "'smoke' was paused in Airflow, and was unpaused"
    assert not server.dag["is_paused"]
    assert api.unpause("smoke") == ""


def test_a_schedule_is_switched_on_by_nobody_but_its_owner(server: Server) -> None:
    server.dag = {"is_paused": True, "timetable_summary": "0 20 * * 6"}
    assert "'smoke' is paused in Airflow, so its run waits" in api_of(server).unpause("smoke")
    assert server.dag["is_paused"]


def test_who_may_not_unpause_is_told_that_the_run_waits(server: Server) -> None:
    server.may_edit, server.dag = False, {"is_paused": True, "timetable_summary": None}
    assert "so its run waits, and was not unpaused: Airflow at" in api_of(server).unpause("smoke")


def test_password_of_a_standalone_airflow_here_is_found_and_told_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"URL": "http://localhost:8080", "USER": "admin", "PASSWORD": ""}.items():
        monkeypatch.setenv(f"CLUSTERBENCH_AIRFLOW_{name}", value)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    with pytest.raises(AirflowApiError, match="set CLUSTERBENCH_AIRFLOW_USER and _PASSWORD too"):
        AirflowApi.from_environment(tmp_path)
    (tmp_path / PASSWORDS_FILE).write_text('{"admin": "made up"}')
    assert AirflowApi.from_environment(tmp_path).password == "made up"
    monkeypatch.setenv("CLUSTERBENCH_AIRFLOW_PASSWORD", "ours")
    assert AirflowApi.from_environment(tmp_path).password == "ours"
    monkeypatch.setenv("CLUSTERBENCH_AIRFLOW_PASSWORD", "")
    monkeypatch.setenv("CLUSTERBENCH_AIRFLOW_URL", "https://airflow.example")
    with pytest.raises(AirflowApiError, match="_PASSWORD too"):
        AirflowApi.from_environment(tmp_path)
