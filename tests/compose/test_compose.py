"""The whole thing as containers, as docs/compose.md says: what is open, who holds which secret, and runs that survive.

In the order of the file: later tests take things down that earlier ones need.
"""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from datetime import datetime
from typing import Any

import httpx
import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import from_file
from clusterbench.base.run_ids import run_id_from
from tests.compose.containers import ONE_SHOT, Containers

pytestmark = pytest.mark.timeout(1200)

HOSTS = ("client", "etl", "db1", "db2", "master", "worker1", "worker2", "worker3")
AIRFLOW_WORKERS = ("airflow-worker1", "airflow-worker2")
ON_CPU_LIMIT = {"db1": 0.75, "db2": 1.0, "worker1": 1.0, "worker2": 1.0, "worker3": 1.0}
LONG_TRIALS = {"platforms": ["compose_db1"], "scale": "laptop", "sweeps": ["concurrency"], "concurrency": [50]}
"""Three trials of key_value, the driver of each running for some seconds."""


def secrets_of(containers: Containers) -> dict[str, str]:
    """Whatever must be seen nowhere: by file, the value, or of a private key its second line."""
    found = {}
    for path in containers.secrets_dir.iterdir():
        if path.is_file() and path.suffix not in (".pub", ".json", ".conf", ".properties"):
            lines = path.read_text().splitlines()
            found[path.name] = lines[1] if lines[0].startswith("-----BEGIN") else lines[0]
    return found


def archive_of(containers: Containers, api: AirflowApi, dag_id: str, dag_run_id: str) -> RunArchive:
    """From this machine: containers' own addresses can be reached from where they run, and from nowhere else."""
    known = from_file(containers.secrets_dir / "connections.json")(CONNECTION_ID)
    (address,) = (each["IPAddress"] for each in networks(containers, "s3").values())
    here = replace(known, extra={**known.extra, "endpoint_url": f"http://{address}:9000"})
    asked = datetime.fromisoformat(api.dag_run(dag_id, dag_run_id)["run_after"])
    return RunArchive(Store.of(here), dag_id, run_id_from(asked, dag_run_id))


def networks(containers: Containers, service: str) -> dict[str, Any]:
    return dict(containers.inspect(containers.ids()[service])["NetworkSettings"]["Networks"])


def run_to_its_end(api: AirflowApi, dag_id: str, dag_run_id: str, archive: RunArchive) -> tuple[str, str]:
    """Its state, and what there is to say if that is not the one expected."""
    out = io.StringIO()
    state = follow(api, dag_id, dag_run_id, out)
    return state, out.getvalue() + json.dumps(archive.errors(), indent=1)


def trials_of(api: AirflowApi, dag_id: str, dag_run_id: str) -> list[dict[str, Any]]:
    """Task instances of the trials that were given to a worker."""
    every = api.task_instances(dag_id, dag_run_id)
    return [task for task in every if task["task_id"].endswith(".trials") and task["map_index"] >= 0]


def running_trial(containers: Containers, api: AirflowApi, dag_id: str, dag_run_id: str) -> dict[str, Any]:
    """Wait until a trial's driver runs on the client host; then its task instance."""
    under_way = (
        f"cd /srv/host/work/jobs/{dag_id} 2>/dev/null && "
        "find . -name started | while read -r it; do [ -e ${it%started}status ] || echo $it; done"
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if containers.inside("client", f"{under_way}; true").strip():
            for task in trials_of(api, dag_id, dag_run_id):
                if task["state"] == "running":
                    return task
        assert api.dag_run(dag_id, dag_run_id)["state"] != "failed"
        time.sleep(0.1)
    raise AssertionError("no driver was seen running")


# What is open, and to whom.


def test_every_service_is_there_and_not_root(containers: Containers) -> None:
    ids = containers.ids()
    assert {*HOSTS, *AIRFLOW_WORKERS, "api-server", "scheduler", "dag-processor", "triggerer"} < set(ids)
    assert {"metadata", "redis", "s3"} < set(ids)
    for service in set(ids) - ONE_SHOT:
        owners = containers.docker("top", ids[service], "-eo", "user,pid,args").splitlines()[1:]
        roots = [line for line in owners if line.startswith("root ") and "docker-init" not in line]
        assert roots == [], service


def test_only_the_ui_is_published_and_only_on_loopback(containers: Containers) -> None:
    published = {service: containers.docker("port", each).split() for service, each in containers.ids().items()}
    assert {service: said for service, said in published.items() if said} == {
        "api-server": ["8080/tcp", "->", f"127.0.0.1:{containers.port}"]
    }


def test_the_ui_wants_a_login(containers: Containers, api: AirflowApi) -> None:
    assert httpx.get(f"{api.url}/api/v2/dags").status_code == 401
    wrong = httpx.post(f"{api.url}/auth/token", json={"username": "admin", "password": "admin"})
    assert wrong.status_code == 401
    assert api.call("GET", "/dags")["total_entries"] > 0


def test_cluster_and_airflow_see_each_other_only_through_the_workers(containers: Containers) -> None:
    both = {service for service in containers.ids() if len(networks(containers, service)) > 1}
    assert both == set(AIRFLOW_WORKERS)
    for service, stranger in (("db1", "metadata"), ("client", "s3"), ("scheduler", "db1"), ("api-server", "client")):
        with pytest.raises(AssertionError, match="compose exec"):
            containers.inside(service, f"getent hosts {stranger}")


def test_workers_share_no_disk_and_hold_no_key_of_airflow(containers: Containers) -> None:
    mounts = {
        service: {
            mount["Source"]: mount["RW"]
            for mount in containers.inspect(each)["Mounts"]
            if not mount["Destination"].startswith("/run/secrets/")
        }
        for service, each in containers.ids().items()
    }
    first, second = (set(mounts[worker]) for worker in AIRFLOW_WORKERS)
    assert len(first) == len(second) == 1 and not first & second
    held = containers.inside("airflow-worker1", "ls /run/secrets").split()
    assert sorted(held) == ["api_secret_key", "broker_url", "client_key", "connections.json"]


def test_the_api_server_is_told_where_results_are_and_no_host(containers: Containers) -> None:
    assert "connections.json" not in containers.inside("api-server", "ls /run/secrets").split()
    known = json.loads(containers.inside("api-server", "cat /run/secrets/results_connections.json"))
    assert set(known) == {"clusterbench_archive", "clusterbench_history"}


def test_no_secret_shows_in_an_inspection_or_an_image(containers: Containers) -> None:
    secrets = secrets_of(containers)
    assert len(secrets) > 15
    images = {containers.inspect(each)["Image"] for each in containers.ids().values()}
    said = [containers.docker("inspect", each) for each in containers.ids().values()]
    said += [containers.docker("history", "--no-trunc", image) for image in images]
    shown = {name for name, value in secrets.items() for text in said if value in text}
    assert shown == set()
    assert containers.secrets_dir.stat().st_mode & 0o777 == 0o700


def test_processor_limits_are_those_asked_for(containers: Containers) -> None:
    ids = containers.ids()
    found = {service: containers.inspect(ids[service])["HostConfig"]["NanoCpus"] / 1e9 for service in ON_CPU_LIMIT}
    assert found == ON_CPU_LIMIT
    assert {containers.inspect(ids[host])["HostConfig"]["RestartPolicy"]["Name"] for host in HOSTS} <= {"no", ""}


# Runs.


def test_smoke_is_valid_with_trials_on_both_workers(containers: Containers, api: AirflowApi) -> None:
    printed = containers.clusterbench("run", "smoke", "--platform", "compose_db1", timeout_s=400)
    run = next(line.split()[1].rstrip(":") for line in printed.splitlines() if line.startswith("run smoke/"))
    assert f"run {run}: valid" in printed
    assert "no problems" in containers.clusterbench("verify", run)
    (dag_run,) = api.call("GET", "/dags/smoke/dagRuns")["dag_runs"]
    trials = trials_of(api, "smoke", dag_run["dag_run_id"])
    assert len(trials) == 9
    assert {task["hostname"] for task in trials} == set(AIRFLOW_WORKERS)
    report = containers.secrets_dir / "out" / "reports" / f"{run.replace('/', '-')}.html"
    assert "compose_db1" in report.read_text()


def test_a_killed_worker_loses_nothing(containers: Containers, api: AirflowApi) -> None:
    dag_run_id = api.trigger("key_value", {**LONG_TRIALS, "repetitions": 1})
    hit = running_trial(containers, api, "key_value", dag_run_id)
    killed = containers.ids()[hit["hostname"]]
    containers.docker("kill", killed)

    archive = archive_of(containers, api, "key_value", dag_run_id)
    state, said = run_to_its_end(api, "key_value", dag_run_id, archive)
    assert state == "success", said
    assert not containers.inspect(killed)["State"]["Running"], "one worker did the rest"
    assert archive.verify() == []
    assert archive.need_json("manifest.json")["valid"] is True
    records = archive.trials()
    assert [(record.outcome, record.driver_starts) for record in records] == [("completed", 1)] * 3
    for record in records:
        folder = f"trials/compose_db1/{record.trial.id}/log."
        assert len({key[len(folder) :].split(".")[0] for key in archive.keys(folder)}) == 1, "one pgbench"
    again = next(task for task in trials_of(api, "key_value", dag_run_id) if task["map_index"] == hit["map_index"])
    assert again["try_number"] == 2
    assert again["hostname"] in set(AIRFLOW_WORKERS) - {hit["hostname"]}
    logs = [api.log("key_value", dag_run_id, task) for task in trials_of(api, "key_value", dag_run_id)]
    assert any("the driver was started before; waiting for it" in log for log in logs), "by its next try, or before it"

    containers.docker("start", killed)
    containers.wait_until_well()
    assert "driver" in api.log("key_value", dag_run_id, {**again, "try_number": 1}), "the killed worker's log is back"


def test_hadoop_is_measured_and_is_gone_afterwards(containers: Containers, api: AirflowApi) -> None:
    chosen = {"platforms": ["compose_hadoop1"], "scale": "smoke", "sweeps": ["platforms"], "repetitions": 1}
    dag_run_id = api.trigger("terasort", chosen)
    archive = archive_of(containers, api, "terasort", dag_run_id)
    state, said = run_to_its_end(api, "terasort", dag_run_id, archive)
    assert state == "success", said
    assert archive.verify() == []
    (record,) = archive.trials()
    assert record.outcome == "completed" and record.measurements["terasort_s"] > 0
    for host in ("master", "worker1", "worker2", "worker3"):
        assert "java" not in containers.inside(host, "ps -eo comm")


def test_a_killed_host_is_a_finding_and_stays_down(containers: Containers, api: AirflowApi) -> None:
    dag_run_id = api.trigger("key_value", {**LONG_TRIALS, "repetitions": 1})
    hit = running_trial(containers, api, "key_value", dag_run_id)
    database = containers.ids()["db1"]
    containers.docker("kill", database)

    archive = archive_of(containers, api, "key_value", dag_run_id)
    state, said = run_to_its_end(api, "key_value", dag_run_id, archive)
    assert state == "failed", said
    assert archive.verify() == [], "an invalid run is archived as a whole, too"
    assert archive.need_json("manifest.json")["valid"] is False
    assert b"db1" in (archive.store.get(f"{archive.prefix}report.html") or b"")
    failed = [record for record in archive.trials() if record.outcome == "failed"]
    assert failed and all("db1" in record.reason for record in failed), [record.reason for record in failed]
    assert "db1" in api.log("key_value", dag_run_id, hit)

    state = containers.inspect(database)
    assert not state["State"]["Running"] and state["RestartCount"] == 0, "it does not come back by itself"
    assert "was not put back" in said or "put back" in str(archive.need_json("verdicts.json")), said
    held = containers.inside("client", "cat /var/tmp/clusterbench.cluster.compose.*")
    assert "left_changed" in held and archive.run_id in held, "nobody could look at db1: the cluster stays held"

    containers.docker("start", database)
    containers.wait_until_well()
    assert "released: run key_value/" in containers.clusterbench("release", "compose_db1", "--force")
    password = json.dumps(containers.secret("db1_password"))
    rows = containers.inside(
        "client", f"PGPASSWORD={password} psql -h db1 -U bench -Atc 'SELECT count(*) FROM pg_database'"
    )
    assert int(rows) >= 3, "started by hand it recovers what it had"


def test_no_secret_is_in_any_log(containers: Containers) -> None:
    said = containers.logs()
    for worker in AIRFLOW_WORKERS:
        said += containers.inside(worker, "find /opt/airflow/logs -type f -exec cat {} +")
    assert len(said) > 10_000
    assert {name for name, value in secrets_of(containers).items() if value in said} == set()
