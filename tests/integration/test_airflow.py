"""The whole pipeline: real Airflow, real hosts, real PostgreSQL, real S3, started as a user would."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.message import EmailMessage
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.archive import RunArchive
from clusterbench.base.connections import HISTORY, Connections, from_file
from clusterbench.base.errors import AirflowApiError
from clusterbench.base.run_ids import run_id_from, run_started_by
from clusterbench.engines import as_database
from clusterbench.history import database as history
from clusterbench.history import read
from clusterbench.history.changes import ReportedChange, regressions
from clusterbench.results.gather import read_run
from clusterbench.run.baselines import KEEP
from clusterbench.run.run import connected
from clusterbench.spec.catalog import project_catalog
from clusterbench_lab import Lab
from clusterbench_lab.bench.history import fill
from clusterbench_lab.layout import DATABASE_HOSTS, PARTITIONS
from clusterbench_lab.processes import facts_of
from tests.integration.helpers import archive_of, store_of
from tests.lab.looking import secrets_of
from tests.people import People, told_by

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def api(lab_with_airflow: Lab) -> Iterator[AirflowApi]:
    lab_with_airflow.up()
    user, password = lab_with_airflow.airflow_login()
    api = AirflowApi(lab_with_airflow.airflow_url().rstrip("/"), user, password)
    deadline = time.monotonic() + 180
    while {dag["dag_id"] for dag in api.call("GET", "/dags")["dags"]} < {"smoke", "key_value", "weekly"}:
        assert time.monotonic() < deadline, f"the DAGs did not appear: {api.import_errors()}"
        time.sleep(1)
    assert api.import_errors() == []
    assert clusterbench(lab_with_airflow, "pools").returncode == 0  # where no test has run an experiment before
    yield api


@pytest.fixture(scope="module")
def there(lab_with_airflow: Lab) -> Connections:
    return from_file(lab_with_airflow.lab_dir / "connections.json")


def clusterbench(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clusterbench.cli.main", *arguments],
        env={**os.environ, "CLUSTERBENCH_LAB_DIR": str(lab.lab_dir)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def smoke(lab_with_airflow: Lab, api: AirflowApi, there: Connections) -> tuple[str, RunArchive]:
    """What `clusterbench run smoke` printed, and the archive of that run."""
    done = clusterbench(lab_with_airflow, "run", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    run_id = next(
        line.split("/")[1].split(":")[0] for line in done.stdout.splitlines() if line.startswith("run smoke/")
    )
    return done.stdout, archive_of(there, "smoke", run_id)


def test_run_shows_progress_results_and_where_things_are(smoke: tuple[str, RunArchive]) -> None:
    printed, archive = smoke
    assert "open_run: done" in printed
    assert "9/9 lab_db1: " in printed
    assert f"run smoke/{archive.run_id}: valid" in printed
    report = next(line.split()[1] for line in printed.splitlines() if line.startswith("report "))
    assert Path(report).read_bytes() == archive.store.get(f"{archive.prefix}report.html")


def test_the_archive_is_whole(smoke: tuple[str, RunArchive]) -> None:
    _, archive = smoke
    keys = set(archive.keys())
    for key in ("run.json", "experiment.yaml", "plan.json", "results.json", "verdicts.json", "report.html"):
        assert key in keys
    assert {"platforms/lab_db1/facts.json", "platforms/lab_db1/data.json", "platforms/lab_db1/platform.yaml"} <= keys
    records = archive.trials()
    assert [record.outcome for record in records].count("completed") == 8
    assert [record.outcome for record in records].count("not_applicable") == 1
    for record in records:
        if record.outcome == "completed":
            folder = f"trials/lab_db1/{record.trial.id}"
            assert f"{folder}/telemetry.tar" in keys
            assert any(key.startswith(f"{folder}/log.") for key in keys)
            assert record.driver_starts == 1
    manifest = archive.need_json("manifest.json")
    assert manifest["valid"] is True and set(manifest["objects"]) == keys - {"manifest.json"}
    assert archive.verify() == []


def test_history_has_the_run_when_it_ends(smoke: tuple[str, RunArchive], there: Connections) -> None:
    _, archive = smoke
    with history.opened(there(HISTORY)) as db:
        assert read.one_run(db, "smoke", archive.run_id).results == read_run(archive).results


def test_a_run_is_withdrawn_by_a_form_and_put_back_from_the_command_line(
    api: AirflowApi, lab_with_airflow: Lab, smoke: tuple[str, RunArchive], there: Connections
) -> None:
    _, archive = smoke
    said = {"kind": "withdrawn", "text": "a backup ran", "run": archive.name}
    assert follow(api, "remarks", api.trigger("remarks", said)) == "success"
    with history.opened(there(HISTORY)) as db:
        run = read.run(db, archive.experiment, archive.run_id)
    assert run is not None
    assert re.fullmatch(r"withdrawn by admin on \d+ \w+ 20\d\d: a backup ran", run.withdrawn)
    assert follow(api, "remarks", api.trigger("remarks", said)) == "failed"  # as it is already
    listed = clusterbench(lab_with_airflow, "list", "smoke").stdout
    assert "withdrawn" in listed
    back = clusterbench(lab_with_airflow, "remark", "put-back", archive.name, "of another cluster")
    assert back.returncode == 0, back.stderr
    with history.opened(there(HISTORY)) as db:
        run = read.run(db, archive.experiment, archive.run_id)
    assert run is not None
    assert not run.withdrawn
    assert archive.verify() == []


def test_trials_ran_in_the_planned_order_one_at_a_time(smoke: tuple[str, RunArchive]) -> None:
    _, archive = smoke
    planned = [trial["id"] for trial in archive.need_json("plan.json")["trials"]["lab_db1"]]
    records = archive.trials()
    assert [record.trial.id for record in records] == planned
    measured = [record for record in records if record.window_start_s and record.window_end_s]
    for earlier, later in itertools.pairwise(measured):
        assert (earlier.window_end_s or 0) < (later.window_start_s or 0)


@contextmanager
def without_history(lab: Lab) -> Iterator[None]:
    """Tasks find nobody where the history database is said to be."""
    path = lab.lab_dir / "connections.json"
    known = path.read_text()
    away = json.loads(known)
    away[HISTORY]["port"] = 1
    path.write_text(json.dumps(away))
    try:
        yield
    finally:
        path.write_text(known)


@pytest.mark.long
def test_retail_runs_through_its_dag_on_both_platforms(
    lab_with_airflow: Lab, api: AirflowApi, there: Connections
) -> None:
    """Set-up, generation, validation, trials, archive and report; what the DAG's button does.

    The platforms are measured in turns: both stay up, and their trials alternate.

    The history database is away meanwhile: the run is valid all the same, and loaded later.
    """
    with without_history(lab_with_airflow):
        done = clusterbench(
            lab_with_airflow, "run", "retail", "--scale", "smoke", "--concurrency", "2",
            "--sweep", "full_scan", "--sweep", "data_load",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    run_id = next(
        line.split("/")[1].split(":")[0] for line in done.stdout.splitlines() if line.startswith("run retail/")
    )
    archive = archive_of(there, "retail", run_id)
    dag_run_id = archive.need_json("run.json")["started_by"]["dag_run_id"]
    load = next(task for task in api.task_instances("retail", dag_run_id) if task["task_id"] == "load_history")
    assert load["state"] == "failed"
    assert "cannot be reached" in api.log("retail", dag_run_id, load)
    assert f"retail/{run_id}: loaded" in clusterbench(lab_with_airflow, "history", "load", run_id).stdout
    records = archive.trials()
    assert {(r.trial.platform, r.trial.workload, r.outcome) for r in records} == {
        (platform, workload, "completed")
        for platform in ("lab_db1", "lab_db2") for workload in ("full_scan", "data_load")
    }  # fmt: skip
    assert archive.verify() == []
    _alternated(archive, api.task_instances("retail", dag_run_id))
    assert "in_turns: lab_db1: full scan: 2 streams, " in done.stdout
    assert "throughput_mb_per_s" in done.stdout and "response_time_s" in done.stdout
    assert set(archive.keys("answers/")) == {
        "answers/data_load-order_lineitems_load_10000.json", "answers/full_scan-order_lineitems_20000.json",
    }  # fmt: skip


def _alternated(archive: RunArchive, tasks: list[dict[str, Any]]) -> None:
    """Trials of the two platforms were measured in the plan's order, one at a time, while both were up."""
    turns = [tuple(turn) for turn in archive.need_json("plan.json")["turns"]]
    records = {(record.trial.platform, record.trial.id): record for record in archive.trials()}
    assert set(turns) == set(records) and len(turns) == 6
    for earlier, later in itertools.pairwise([records[turn] for turn in turns]):
        assert (earlier.window_end_s or 0) < (later.window_start_s or 0)
    for (platform, one), (other, same) in zip(turns[::2], turns[1::2], strict=True):
        assert platform != other and one == same
    mapped = {task["map_index"]: task for task in tasks if task["task_id"] == "in_turns.trials"}
    for index, turn in enumerate(turns):
        assert mapped[index]["rendered_map_index"] == f"{turn[0]}: {records[turn].trial.label}"
    at = {task["task_id"]: task for task in tasks}
    first, last = mapped[0]["start_date"], mapped[len(turns) - 1]["end_date"]
    for platform in ("lab_db1", "lab_db2"):
        assert at[f"{platform}.validate_data"]["end_date"] < first
        assert at[f"{platform}.release_cluster"]["start_date"] > last
    assert at["lab_db2.release_cluster"]["end_date"] < at["lab_db1.release_cluster"]["start_date"]
    report = (archive.store.get(f"{archive.prefix}report.html") or b"").decode()
    assert "<dt>in turns</dt><dd>lab_db1, lab_db2</dd>" in report


@pytest.mark.long
def test_a_platform_in_turns_whose_set_up_fails_leaves_the_other_to_be_measured(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    def on_db1(statement: str) -> None:
        with connected(project_catalog().platform("lab_db1"), there, {}) as (_, (engine, *_)):
            as_database(engine).execute(statement)
            as_database(engine).execute("SELECT pg_reload_conf()")

    on_db1("ALTER SYSTEM SET synchronous_commit = off")
    try:
        done = clusterbench(lab_with_airflow, "run", "retail", "--scale", "smoke", "--sweep", "data_load")
    finally:
        on_db1("ALTER SYSTEM RESET synchronous_commit")
    assert done.returncode == 1, done.stdout
    assert "lab_db1.set_up_cluster: FAILED" in done.stdout
    for name in ("lab_db2.release_cluster", "lab_db1.release_cluster"):
        assert f"{name}: done" in done.stdout
    run_id = next(
        line.split("/")[1].split(":")[0] for line in done.stdout.splitlines() if line.startswith("run retail/")
    )
    archive = archive_of(there, "retail", run_id)
    assert [(one.trial.platform, one.outcome) for one in archive.trials()] == [("lab_db2", "completed")]
    results = {one["platform"]: one for one in archive.need_json("results.json")["results"]}
    assert (results["lab_db1"]["completed"], results["lab_db1"]["planned"]) == (0, 1), "nothing is dropped"
    assert archive.need_json("manifest.json")["valid"] is False


def test_verify_finds_a_flipped_bit_a_missing_and_an_extra_object(
    smoke: tuple[str, RunArchive], lab_with_airflow: Lab
) -> None:
    _, archive = smoke
    store, prefix = archive.store, archive.prefix
    name = f"smoke/{archive.run_id}"
    log = next(key for key in archive.keys("") if "/log." in key)
    results = store.get(f"{prefix}results.json") or b""
    content = bytearray(store.get(prefix + log) or b"")
    content[10] ^= 1
    original = store.get(prefix + log) or b""
    store.client.put_object(Bucket=store.bucket, Key=prefix + log, Body=bytes(content))
    store.client.delete_object(Bucket=store.bucket, Key=f"{prefix}results.json")
    store.client.put_object(Bucket=store.bucket, Key=f"{prefix}extra.txt", Body=b"x")
    try:
        found = clusterbench(lab_with_airflow, "verify", name)
    finally:
        store.client.put_object(Bucket=store.bucket, Key=prefix + log, Body=original)
        store.client.put_object(Bucket=store.bucket, Key=f"{prefix}results.json", Body=results)
        store.client.delete_object(Bucket=store.bucket, Key=f"{prefix}extra.txt")
    assert found.returncode == 1
    assert f"{log}: changed after the run" in found.stderr
    assert "results.json: is in the manifest but missing in storage" in found.stderr
    assert "extra.txt: is in storage but not in the manifest" in found.stderr
    assert "3 problems" in found.stdout
    assert clusterbench(lab_with_airflow, "verify", name).returncode == 0


@pytest.fixture(scope="module")
def secrets(lab_with_airflow: Lab) -> dict[str, str]:
    """Everything in the lab's file of passwords and keys, and a line of the private key."""
    return secrets_of(lab_with_airflow)


def held(secrets: dict[str, str], content: str) -> list[str]:
    """Names of the secrets in a text, or in one that is JSON of it."""
    return [name for name, secret in secrets.items() if secret in content or json.dumps(secret)[1:-1] in content]


def dag_run_of(archive: RunArchive) -> str:
    return str(archive.need_json("run.json")["started_by"]["dag_run_id"])


def test_no_secret_is_in_a_task_log(
    smoke: tuple[str, RunArchive], lab_with_airflow: Lab, secrets: dict[str, str], api: AirflowApi
) -> None:
    """Neither in the files that the servers and workers write, nor as the UI shows them."""
    logs = [path for path in lab_with_airflow.lab_dir.rglob("*.log") if path.is_file()]
    assert any("dag_id=smoke" in str(path) for path in logs)
    for path in logs:
        assert held(secrets, path.read_text(errors="replace")) == [], path
    dag_run_id = dag_run_of(smoke[1])
    shown = [api.log("smoke", dag_run_id, task) for task in api.task_instances("smoke", dag_run_id) if task["pid"]]
    assert sum("latency_ms_p99" in log for log in shown) == 8, "the trials' logs are among them"
    assert held(secrets, "\n".join(shown)) == []


def test_no_secret_is_in_an_xcom_or_a_rendered_template(
    smoke: tuple[str, RunArchive], secrets: dict[str, str], api: AirflowApi
) -> None:
    dag_run_id = dag_run_of(smoke[1])
    run = f"/dags/smoke/dagRuns/{quote(dag_run_id, safe='')}"
    entries = api.call("GET", f"{run}/taskInstances/~/xcomEntries", params={"limit": 1000})["xcom_entries"]
    values = [
        api.call(
            "GET",
            f"{run}/taskInstances/{entry['task_id']}/xcomEntries/{entry['key']}",
            params={"map_index": entry["map_index"], "stringify": "true"},
        )["value"]
        for entry in entries
    ]
    assert smoke[1].url in json.dumps(values), "what open_run returns is among them"
    tasks = api.task_instances("smoke", dag_run_id)
    rendered = [task["rendered_fields"] for task in tasks]
    assert "trials" in "".join(task["task_id"] for task in tasks) and any(rendered)
    assert held(secrets, json.dumps([entries, values, tasks, api.dag_run("smoke", dag_run_id)])) == []


def test_no_secret_is_in_the_run_s_archive(smoke: tuple[str, RunArchive], secrets: dict[str, str]) -> None:
    archive = smoke[1]
    for key in archive.keys(""):
        assert held(secrets, (archive.store.get(archive.prefix + key) or b"").decode(errors="replace")) == [], key


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2/dags",
        "/api/v2/dags/smoke/dagRuns",
        "/api/v2/dags/smoke/dagRuns/~/taskInstances",
        "/api/v2/dags/smoke/dagRuns/~/taskInstances/~/xcomEntries",
        "/api/v2/connections",
        "/api/v2/variables",
        "/api/v2/pools",
        "/api/v2/eventLogs",
        "/api/v2/importErrors",
        "/ui/config",
        "/ui/dags",
        "/ui/dashboard/dag_stats",
    ],
)
def test_without_a_login_airflow_tells_nothing(api: AirflowApi, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer not.a.token"}, {"Cookie": "_token=not.a.token"}):
        answer = httpx.get(api.url + path, headers=headers, follow_redirects=False, timeout=30)
        assert answer.status_code in (401, 403), f"{path} with {headers or 'nothing'}: {answer.status_code}"
        assert "smoke" not in answer.text
    assert httpx.get(api.url + path, headers={"Authorization": f"Bearer {token(api)}"}, timeout=30).is_success


def token(api: AirflowApi) -> str:
    said = httpx.post(f"{api.url}/auth/token", json={"username": api.user, "password": api.password}, timeout=30)
    return str(said.json()["access_token"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v2/dags/smoke/dagRuns", {"logical_date": None, "conf": {}}),
        ("PATCH", "/api/v2/dags/smoke", {"is_paused": True}),
        ("POST", "/api/v2/connections", {"connection_id": "x", "conn_type": "ssh"}),
        ("DELETE", "/api/v2/dags/smoke", None),
    ],
)
def test_without_a_login_nothing_can_be_done(api: AirflowApi, method: str, path: str, body: object) -> None:
    before = api.call("GET", "/dags/smoke/dagRuns")["total_entries"]
    answer = httpx.request(method, api.url + path, json=body, timeout=30)
    assert answer.status_code in (401, 403)
    assert api.call("GET", "/dags/smoke")["is_paused"] is False
    assert api.call("GET", "/dags/smoke/dagRuns")["total_entries"] == before


@pytest.mark.parametrize(("user", "password"), [("admin", ""), ("admin", "admin"), ("", ""), ("nobody", "x")])
def test_a_wrong_password_opens_nothing(api: AirflowApi, user: str, password: str) -> None:
    answer = httpx.post(f"{api.url}/auth/token", json={"username": user, "password": password}, timeout=30)
    assert answer.status_code in (400, 401, 422)
    assert "access_token" not in answer.text


def test_no_token_is_given_without_a_password(api: AirflowApi) -> None:
    """SimpleAuthManager gives everybody one where ``simple_auth_manager_all_admins`` is set; here it must not be."""
    answer = httpx.get(f"{api.url}/auth/token", timeout=30)
    assert not answer.is_success and "access_token" not in answer.text


THREE_TRIALS = {"scale": "laptop", "sweeps": ["concurrency"], "concurrency": [50], "repetitions": 1}
"""Of ``key_value``, of some seconds each."""


def path_of(dag_run_id: str, dag_id: str = "key_value") -> str:
    """Of a run, for Airflow's API."""
    return f"/dags/{dag_id}/dagRuns/{quote(dag_run_id, safe='')}"


def running_trial(api: AirflowApi, lab: Lab, dag_id: str, dag_run_id: str) -> dict[str, object]:
    """Wait until a trial's driver runs on the client host; then its task instance."""
    jobs = lab.lab_dir / "hosts" / "client" / "work" / "jobs" / dag_id
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        drivers = [started.parent for started in jobs.rglob("started") if not (started.parent / "status").exists()]
        for task in api.task_instances(dag_id, dag_run_id) if drivers else []:
            if task["task_id"].endswith(".trials") and task["state"] == "running" and task["pid"]:
                return {**task, "job": str(drivers[0])}
        assert drivers or api.dag_run(dag_id, dag_run_id)["state"] != "failed"
        time.sleep(0.1 if drivers else 0.3)
    raise AssertionError("no driver was seen running")


def shown(api: AirflowApi, path: str) -> str:
    """A page inside Airflow's UI, as somebody sees it who has logged in."""
    answer = httpx.get(f"{api.url}{path}", headers={"Authorization": f"Bearer {token(api)}"}, timeout=30)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


@pytest.mark.long
def test_killed_task_and_killed_scheduler_leave_a_valid_run_measured_once(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    """kill -9 in the middle of a trial: of the task's process, then of the scheduler, which the lab brings back."""
    dag_run_id = api.trigger("key_value", THREE_TRIALS)
    first = running_trial(api, lab_with_airflow, "key_value", dag_run_id)
    os.kill(int(str(first["pid"])), signal.SIGKILL)

    deadline = time.monotonic() + 240
    while True:
        second = running_trial(api, lab_with_airflow, "key_value", dag_run_id)
        if second["map_index"] != first["map_index"]:
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)
    page = shown(api, f"/bench/now/key_value/{dag_run_id}")
    assert re.search(r"<dt>trials</dt><dd>\d of 3 ended</dd>", page) and "lab_db1.trials: " in page
    os.kill(lab_with_airflow.pid("scheduler") or 0, signal.SIGKILL)
    lab_with_airflow.start_server("scheduler")

    out = io.StringIO()
    assert follow(api, "key_value", dag_run_id, out) == "success", out.getvalue()
    archive = archive_in(api, there, dag_run_id)
    assert archive.verify() == []
    assert archive.need_json("manifest.json")["valid"] is True
    records = archive.trials()
    assert [record.outcome for record in records] == ["completed"] * 3
    for record in records:
        is_fixed = record.trial.levels["cache"] == "cold"
        assert record.samples == 50 * 2000 if is_fixed else record.samples >= 50 * 2000
        assert record.driver_starts == 1
        folder = f"trials/lab_db1/{record.trial.id}/log."
        assert len({key[len(folder) :].split(".")[0] for key in archive.keys(folder)}) == 1, (
            "one pgbench, one process id"
        )
    tries = {
        task["map_index"]: task["try_number"]
        for task in api.task_instances("key_value", dag_run_id)
        if task["task_id"] == "lab_db1.trials"
    }
    assert tries[int(str(first["map_index"]))] >= 2 and tries[int(str(second["map_index"]))] >= 2
    left = lab_with_airflow.lab_dir / "hosts" / "client" / "work" / "lease.lab"
    assert not left.exists(), "the cluster was released"


@pytest.mark.long
def test_who_follows_a_run_is_told_within_half_a_minute_that_no_scheduler_is_alive(
    api: AirflowApi, lab_with_airflow: Lab
) -> None:
    """The shell that would start it again is killed first. The run, which has a wrong choice, ends when it is back."""
    scheduler = lab_with_airflow.pid("scheduler") or 0
    keeper = facts_of(scheduler)
    assert keeper is not None
    for pid in (keeper.parent_pid, scheduler):
        os.kill(pid, signal.SIGKILL)
    died = time.monotonic()
    out, states = io.StringIO(), []
    try:
        dag_run_id = api.trigger("smoke", {"sclae": "full"})
        follower = threading.Thread(target=lambda: states.append(follow(api, "smoke", dag_run_id, out)), daemon=True)
        follower.start()
        while f"no scheduler is alive in Airflow at {api.url}: its last heartbeat was at " not in out.getvalue():
            assert time.monotonic() < died + 30, out.getvalue()
            time.sleep(0.1)
        assert "start it again with 'make up' or 'clusterbench lab up'" in out.getvalue()
        for page in ("/bench/now", f"/bench/now/smoke/{dag_run_id}", "/bench/weeks"):
            assert "o scheduler is alive in this Airflow: its last heartbeat was at " in shown(api, page), page
    finally:
        lab_with_airflow.start_server("scheduler")
    follower.join(120)
    assert states == ["failed"], out.getvalue()
    assert "a scheduler is alive again; the run continues" in out.getvalue()
    assert out.getvalue().index("alive again") < out.getvalue().index("open_run: FAILED")


def archive_in(api: AirflowApi, there: Connections, dag_run_id: str, dag_id: str = "key_value") -> RunArchive:
    asked = datetime.fromisoformat(api.dag_run(dag_id, dag_run_id)["run_after"])
    return archive_of(there, dag_id, run_id_from(asked, dag_run_id))


def wait_for_release(lab: Lab) -> None:
    lease = lab.lab_dir / "hosts" / "client" / "work" / "lease.lab"
    deadline = time.monotonic() + 120
    while lease.exists():
        assert time.monotonic() < deadline, "the cluster was not released"
        time.sleep(0.5)


@pytest.mark.long
def test_a_trial_marked_failed_by_a_person_ends_its_driver_too(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    dag_run_id = api.trigger("key_value", THREE_TRIALS)
    task = running_trial(api, lab_with_airflow, "key_value", dag_run_id)
    driver = int((Path(str(task["job"])) / "pid").read_text())
    api.call(
        "PATCH",
        f"{path_of(dag_run_id)}/taskInstances/{task['task_id']}/{task['map_index']}",
        json={"new_state": "failed"},
    )
    marked = time.monotonic()
    while Path(f"/proc/{driver}").exists():
        assert time.monotonic() < marked + 30, "the driver still runs on the client host"
        time.sleep(0.1)
    assert not (Path(str(task["job"])) / "status").exists(), "it was ended, it did not end by itself"
    follow(api, "key_value", dag_run_id, io.StringIO())
    (failed,) = [one for one in archive_in(api, there, dag_run_id).trials() if one.outcome == "failed"]
    assert failed.reason.startswith("a person has marked it, or its run, on "), failed.reason
    assert failed.reason.endswith("; it was not measured again")


@pytest.mark.long
def test_a_run_that_a_person_has_stopped_is_resumed_as_the_same_run(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    dag_run_id = api.trigger("key_value", THREE_TRIALS)
    stopped = running_trial(api, lab_with_airflow, "key_value", dag_run_id)
    api.call("PATCH", path_of(dag_run_id), json={"state": "failed"})
    follow(api, "key_value", dag_run_id, io.StringIO())  # what Airflow makes of it: its teardown may end it well
    wait_for_release(lab_with_airflow)
    archive = archive_in(api, there, dag_run_id)
    assert not archive.sealed and len(archive.trials()) < 3
    done = clusterbench(lab_with_airflow, "resume", archive.name)
    assert done.returncode == 0, done.stdout + done.stderr
    records = archive.trials()
    assert [(one.outcome, one.driver_starts) for one in records] == [("completed", 1)] * 3
    (again,) = [one for one in records if "stopped" in one.evidence]
    assert again.trial.id == Path(str(stopped["job"])).name and len(again.evidence["stopped"]) == 1
    assert archive.need_json("manifest.json")["valid"] is True and archive.verify() == []
    report = (archive.store.get(f"{archive.prefix}report.html") or b"").decode()
    assert "This run was stopped, and resumed" in report and f"{again.trial.label} on lab_db1 was stopped on" in report
    wait_for_release(lab_with_airflow)
    assert not list(Path(str(stopped["job"])).parent.glob("*")), "all is put back and removed"
    refused = clusterbench(lab_with_airflow, "resume", archive.name)
    assert refused.returncode == 1 and "this run is finished and sealed; start a new run instead" in refused.stderr


@pytest.mark.long
def test_a_stopped_run_of_platforms_in_turns_is_resumed_in_the_same_order(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    """Both are taken again, and what is left of the order is measured."""
    choices = {"scale": "smoke", "sweeps": ["full_scan"], "concurrency": [2], "levels": ["window_s=4"]}
    dag_run_id = api.trigger("retail", choices)
    stopped = running_trial(api, lab_with_airflow, "retail", dag_run_id)
    api.call("PATCH", path_of(dag_run_id, "retail"), json={"state": "failed"})
    follow(api, "retail", dag_run_id, io.StringIO())
    wait_for_release(lab_with_airflow)
    archive = archive_in(api, there, dag_run_id, "retail")
    turns = [tuple(turn) for turn in archive.need_json("plan.json")["turns"]]
    assert len(turns) == 4 and not archive.sealed and len(archive.trials()) < 4
    done = clusterbench(lab_with_airflow, "resume", archive.name)
    assert done.returncode == 0, done.stdout + done.stderr
    records = archive.trials()
    assert [(one.trial.platform, one.trial.id) for one in records] == turns, "in the order of the plan"
    assert {(one.outcome, one.driver_starts) for one in records} == {("completed", 1)}
    (again,) = [one for one in records if "stopped" in one.evidence]
    assert again.trial.id == Path(str(stopped["job"])).name
    assert archive.need_json("manifest.json")["valid"] is True and archive.verify() == []
    wait_for_release(lab_with_airflow)


@pytest.mark.parametrize(
    "conf",
    [
        {"scale": "huge"},
        {"scale": "full; DROP TABLE x"},
        {"platforms": ["../../etc/passwd"]},
        {"platforms": ['lab_db1"; $(touch hacked)']},
        {"platforms": []},
        {"sweeps": ["nothing"]},
        {"concurrency": [0]},
        {"concurrency": ["1"]},
        {"repetitions": -1},
        {"seed": -5},
        {"seed": "$(id)"},
    ],
)
def test_a_bad_value_is_refused_before_anything_starts(api: AirflowApi, conf: dict[str, object]) -> None:
    with pytest.raises(AirflowApiError, match="refused: 4") as caught:
        api.trigger("smoke", conf)
    assert next(iter(conf)) in str(caught.value)


def test_an_unknown_parameter_fails_the_run_with_those_there_are(api: AirflowApi) -> None:
    dag_run_id = api.trigger("smoke", {"sclae": "full"})
    assert follow(api, "smoke", dag_run_id, io.StringIO()) == "failed"
    opened = next(task for task in api.task_instances("smoke", dag_run_id) if task["task_id"] == "open_run")
    log = api.log("smoke", dag_run_id, opened)
    allowed = "cells, concurrency, confirms, generate_only, in_turns, levels, note, platforms, profile, rehearse"
    assert f"'sclae' is not a choice; did you mean 'scale'? Allowed: {allowed}" in log


@pytest.mark.long
def test_a_run_whose_hosts_are_wrong_fails_with_a_report_that_says_so(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections
) -> None:
    lab_with_airflow.stop_server("etl")
    try:
        done = clusterbench(lab_with_airflow, "run", "smoke")
    finally:
        lab_with_airflow.start_server("etl")
    assert done.returncode == 1
    assert ": not valid" in done.stdout
    assert "host etl (" in done.stderr and "is sshd running there" in done.stderr
    run_id = next(
        line.split("/")[1].split(":")[0] for line in done.stdout.splitlines() if line.startswith("run smoke/")
    )
    archive = archive_of(there, "smoke", run_id)
    assert archive.need_json("manifest.json")["valid"] is False
    assert archive.verify() == []
    report = (archive.store.get(f"{archive.prefix}report.html") or b"").decode()
    assert "host etl (" in report
    assert archive.trials() == []


@pytest.fixture(scope="module")
def people(lab_with_airflow: Lab) -> Iterator[People]:
    with told_by(lab_with_airflow) as servers:
        yield servers


def week_of(api: AirflowApi, there: Connections, dag_run_id: str) -> RunArchive:
    asked = datetime.fromisoformat(api.dag_run("weekly", dag_run_id)["run_after"])
    return archive_of(there, "weekly", run_id_from(asked, dag_run_id))


def states_of(api: AirflowApi, dag_id: str, dag_run_id: str) -> dict[str, str]:
    return {task["task_id"]: task["state"] for task in api.task_instances(dag_id, dag_run_id)}


def mails_about(people: People, words: str) -> list[EmailMessage]:
    return [mail for mail in people.mails if words in mail["subject"]]


@pytest.mark.long
def test_weekly_runs_each_experiment_fails_when_one_did_and_says_so(
    api: AirflowApi, lab_with_airflow: Lab, there: Connections, people: People
) -> None:
    """With every database and the NameNode's host down: all that were chosen fail, and all were tried.

    Three of them, of both engines; a run of all, in the parts that they declare, is what ``make run`` does.
    """
    experiments = ["key_value", "retail", "terasort"]
    down = (*(f"{host}_postgres" for host in DATABASE_HOSTS if host not in PARTITIONS), "master")
    for server in down:
        lab_with_airflow.stop_server(server)
    try:
        dag_run_id = api.trigger("weekly", {"scale": "smoke", "extent": "part", "experiments": experiments})
        assert follow(api, "weekly", dag_run_id, io.StringIO()) == "failed"
    finally:
        for server in down:
            lab_with_airflow.start_server(server)
    states = states_of(api, "weekly", dag_run_id)
    for name in experiments:
        assert (states[f"{name}.start"], states[f"{name}.finished"]) == ("success", "failed")
    done = ("load_history", "note_week", "weekly_report", "archive_week", "tell")
    assert {name: states[name] for name in done} == dict.fromkeys(done, "success")
    assert states["conclude"] == "failed"

    week = week_of(api, there, dag_run_id)
    assert week.verify() == [] and week.need_json("manifest.json")["valid"] is False
    runs = week.need_json("week.json")["runs"]
    assert [run["experiment"] for run in runs] == experiments
    for run in runs:
        assert run["state"] == "failed" and run["reason"]
        opened = archive_of(there, run["experiment"], run["run_id"]).need_json("run.json")
        assert opened["started_by"]["dag_run_id"] == run["dag_run_id"]

    said = f"{len(experiments)} of {len(experiments)} experiments not valid or not complete"
    (mail,) = mails_about(people, said)
    text = mail.get_body(("plain",))
    assert text is not None and experiments[0] in text.get_content(), "the mail is short; its report names them all"
    (report,) = mail.iter_attachments()
    assert all(name in report.get_content() for name in experiments)
    archived = (week.store.get(f"{week.prefix}report.html") or b"").decode()
    assert report.get_content().splitlines() == archived.splitlines()
    (posted,) = [body for path, body in people.posted if said in body["text"]]
    assert posted["failed"] == experiments and quote(dag_run_id, safe="") in posted["url"]
    (late,) = mails_about(people, "not finished after 0.01 hours")
    assert dag_run_id in str(late.get_body(("plain",)))


@pytest.fixture
def slower(there: Connections) -> Iterator[None]:
    """Half a year of runs that nobody measured, of which some got slower, for as long as a test lasts."""
    with history.for_loading(there(HISTORY)) as db:
        fill(db, weeks=24, trials=48, seed=1)
        try:
            yield
        finally:
            db.execute("DELETE FROM runs WHERE clusterbench = 'synthetic'")
            db.execute("DELETE FROM weeks WHERE url LIKE 's3://synthetic/%'")


@pytest.mark.long
def test_regression_fails_the_week_and_what_a_person_answers_is_the_baseline(
    api: AirflowApi, there: Connections, people: People, slower: None
) -> None:
    """A weekly run that measures nothing judges what was measured last."""
    dag_run_id = api.trigger("weekly", {"scale": "laptop", "experiments": []})
    assert follow(api, "weekly", dag_run_id, io.StringIO()) == "failed"
    states = states_of(api, "weekly", dag_run_id)
    assert {name for name, state in states.items() if state == "failed"} == {"regressions", "conclude"}
    week = week_of(api, there, dag_run_id)
    worse = regressions(map(ReportedChange.of, week.need_json("changes.json")["changes"]))
    assert worse and mails_about(people, f"{len(worse)} regression")
    log = api.log("weekly", dag_run_id, {"task_id": "regressions", "map_index": -1, "try_number": 1})
    assert all(one.line in log for one in worse), "the task names each"

    asking = run_started_by(dag_run_id)
    questions = wait_for_questions(api, asking)
    assert len(questions) == len({(one.experiment, one.platform) for one in worse})
    first = questions[0]
    assert "slower" in first["body"] and first["options"][:1] == [KEEP]
    asked = first["options"][1:2] if len(first["options"]) == 2 else first["options"][2:3]
    answer(api, asking, first, asked)
    (baseline,) = new_baselines(there)
    assert baseline["accepted_by"] == "admin"
    one = next(one for one in worse if one.series_id == series_of(baseline))
    assert baseline["from_run_id"] == one.at_run_id
    with history.opened(there(HISTORY)) as db:
        kept = db.execute("SELECT accepted_by, from_run_id FROM baselines").fetchall()
    assert kept == [("admin", one.at_run_id)]
    for question in questions[1:]:
        answer(api, asking, question, [KEEP])
    assert follow(api, "baselines", asking, io.StringIO()) == "success"


def wait_for_questions(api: AirflowApi, dag_run_id: str) -> list[dict[str, Any]]:
    path = f"/dags/baselines/dagRuns/{quote(dag_run_id, safe='')}/hitlDetails"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        tasks = [task for task in api.task_instances("baselines", dag_run_id) if task["task_id"] == "question"]
        found = list(api.call("GET", path)["hitl_details"])
        if tasks and all(task["state"] == "awaiting_input" for task in tasks) and len(found) == len(tasks):
            return found
        time.sleep(0.5)
    raise AssertionError("nobody was asked")


def answer(api: AirflowApi, dag_run_id: str, question: dict[str, Any], chosen: list[str]) -> None:
    """As the UI does it, and until it has been taken notice of.

    A task that is answered within the second in which it began to wait is taken for one that was killed by Airflow 3.3,
    which tries it again, and so asks again. A person would answer again, too.
    """
    index = question["task_instance"]["map_index"]
    path = f"/dags/baselines/dagRuns/{quote(dag_run_id, safe='')}/taskInstances/question/{index}/hitlDetails"
    answered_try = 0
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        tasks = {task["map_index"]: task for task in api.task_instances("baselines", dag_run_id)}
        state, number = tasks[index]["state"], tasks[index]["try_number"]
        if state == "success":
            return
        assert state != "failed"
        if state == "awaiting_input" and number > answered_try:
            api.call("PATCH", path, json={"chosen_options": chosen, "params_input": {}})
            answered_try = number
        time.sleep(0.5)
    raise AssertionError("the answer was not taken")


def new_baselines(there: Connections) -> list[dict[str, Any]]:
    store = store_of(there)
    return [json.loads(store.get(key) or b"") for key in store.keys("_baselines/")]


def series_of(baseline: dict[str, Any]) -> str:
    names = ("experiment", "scale", "platform", "sweep", "levels", "measurement")
    return ReportedChange(
        **{name: baseline[name] for name in names}, label="", state="", says="", at_run_id="", facts=()
    ).series_id
