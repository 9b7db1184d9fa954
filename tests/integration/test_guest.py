"""On a cluster that is not ours: without leave nothing is changed; what was changed is changed back, or it is loud."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.errors import EngineError, LeaseError
from clusterbench.base.paths import project_root
from clusterbench.hosts import lease
from clusterbench.hosts.fleet import Fleet
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from tests.integration.helpers import changed, measured_whole, new_run, on_testbed

pytestmark = pytest.mark.lab
GUC = "session_replication_role"
"""Of no workload of ours, so that a value of it is somebody else's."""


def run_with(connections: Connections, folder: Path, **changes: Any) -> Run:
    """A run of ``smoke`` on ``lab_db1``, whose file is changed."""
    for kind, name in (("dags/experiments", "smoke"), ("include/platforms", "lab_db1")):
        declared = yaml.safe_load((project_root() / kind / f"{name}.yaml").read_text())
        (folder / kind).mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(declared | (changes if name == "lab_db1" else {}))
        (folder / kind / f"{name}.yaml").write_text(text)
    run = new_run(connections)
    run.catalog = Catalog(folder)
    return run


def whole(run: Run) -> dict[str, str]:
    """Every step of it; trial -> outcome and reason."""
    steps.open_run(run, {}, {"by": "a test"})
    records = measured_whole(run, "lab_db1")
    steps.summarise(run)
    steps.validate_results(run)
    return {record.trial.id: f"{record.outcome} {record.reason}" for record in records}


@contextmanager
def session(connections: Connections, **more: Any) -> Iterator[psycopg.Connection[Any]]:
    at = connections("lab_db1_postgres")
    with psycopg.connect(
        host=at.host, port=at.port, user=at.login, password=at.password, dbname=at.schema, autocommit=True, **more
    ) as opened:
        yield opened


def role_settings(connections: Connections) -> list[str]:
    with session(connections) as db:
        rows = db.execute("SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole <> 0").fetchall()
        return sorted(row[0] for row in rows)


def all_of_host_and_server(connections: Connections) -> dict[str, Any]:
    """Everything that leave is about, and what else somebody could miss."""
    with session(connections) as db:
        said = {
            name: db.execute(query).fetchall()
            for name, query in {
                "settings": "SELECT name, setting, source FROM pg_settings WHERE source <> 'client' ORDER BY 1",
                "started": "SELECT pg_postmaster_start_time()",
                "roles": "SELECT * FROM pg_roles ORDER BY rolname",
                "databases": "SELECT datname, datdba, datacl FROM pg_database WHERE datname <> 'bench' ORDER BY 1",
                "role settings": "SELECT * FROM pg_db_role_setting ORDER BY 1, 2",
                "tablespaces": "SELECT * FROM pg_tablespace ORDER BY 1",
            }.items()
        }
        (data,) = db.execute("SHOW data_directory").fetchone() or ("",)
    files = [*sorted(Path(data).glob("*.conf")), Path(data) / "postmaster.opts", Path(data) / "postmaster.pid"]
    said["files"] = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.exists()}
    kernel = [path for part in ("vm", "kernel", "net/core") for path in Path("/proc/sys", part).iterdir()]
    said["kernel"] = {str(path): _text(path) for path in sorted(kernel) if path.is_file() and path.name not in MOVING}
    said["mounts"] = [line for line in Path("/proc/self/mounts").read_text().splitlines() if not _comes_and_goes(line)]
    said["huge pages"] = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    return said


MOVING = {"ns_last_pid", "pty", "sched_domain", "compact_memory", "stat_refresh", "perf_event_max_sample_rate"}
"""What the kernel counts there or sets by itself on a busy machine, and what cannot be read."""


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What is not as it was, a line each; of mappings and lists what of them, so that a failure names it."""
    found = []
    for name, now in after.items():
        was = before[name]
        if isinstance(now, Mapping):
            found += [
                f"{name}: {key}: {was.get(key)!r} -> {now.get(key)!r}"
                for key in {*was, *now}
                if was.get(key) != now.get(key)
            ]
        elif isinstance(now, list):
            found += [f"{name}: {line!r}" for line in now + was if (line in now) != (line in was)]
        elif now != was:
            found.append(f"{name}: {was!r} -> {now!r}")
    return found


def _comes_and_goes(mount: str) -> bool:
    """Of network namespaces, containers, and temporary folders: other tests and Docker mount them meanwhile."""
    _, place, kind, *_ = mount.split()
    return kind in {"nsfs", "overlay"} or place.startswith(("/run/", "/var/lib/docker/", "/tmp/"))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return "not readable"


def test_platform_without_leave_changes_nothing_and_says_what_it_could_not_do(
    connections: Connections, tmp_path: Path
) -> None:
    with on_testbed(new_run(connections)) as usual:
        usual.engine.tear_down()  # what other tests have left of our settings is not the guest's to take out
    before = all_of_host_and_server(connections)
    run = run_with(connections, tmp_path, may=[])
    outcomes = whole(run)
    after = all_of_host_and_server(connections)
    assert changes(before, after) == []
    cold = [said for trial, said in outcomes.items() if "cold" in trial]
    warm = [said for trial, said in outcomes.items() if "warm" in trial]
    assert cold and all(said.startswith("not_applicable the platform's file does not let") for said in cold)
    assert all("write 'may: [evict, restart]' into include/platforms/lab_db1.yaml" in said for said in cold)
    assert warm and set(warm) == {"completed "}, "all that needs no leave is measured"
    assert run.archive.need_json("verdicts.json")["valid"]
    record = next(one for one in run.archive.trials() if "warm" in one.trial.id)
    assert record.evidence["workload"]["session_settings"], "with their settings, which are of the sessions alone"
    assert record.evidence["driver"]["session"] == {"tls": "none"}


def test_role_settings_that_were_there_are_put_back_though_a_worker_dies(connections: Connections) -> None:
    with session(connections) as db:
        db.execute(f"ALTER ROLE CURRENT_USER IN DATABASE bench SET {GUC} = 'local'")
        db.execute("ALTER ROLE CURRENT_USER IN DATABASE bench SET search_path = \"$user\", 'a b', public")
    theirs = role_settings(connections)
    try:
        with on_testbed(new_run(connections)) as dies:
            dies.engine.set_session({"work_mem": "7MB"})
            dies.engine.set_session({"work_mem": "8MB", "search_path": "public"})
            with session(connections) as driver:
                assert driver.execute("SHOW work_mem").fetchone() == ("8MB",)
        with on_testbed(new_run(connections)) as another:
            another.engine.reset_session()
        assert role_settings(connections) == theirs
        with on_testbed(new_run(connections)) as untouched:
            untouched.engine.reset_session()
            untouched.engine.tear_down()
        assert role_settings(connections) == theirs
    finally:
        with session(connections) as db:
            db.execute("ALTER ROLE CURRENT_USER IN DATABASE bench RESET ALL")


def test_without_leave_sessions_have_their_settings_and_the_role_none(connections: Connections) -> None:
    with on_testbed(new_run(connections), may=[]) as testbed:
        testbed.engine.set_session({"work_mem": "7MB", "search_path": '"$user", public', "DateStyle": "ISO, DMY"})
        assert role_settings(connections) == []
        at = testbed.engine.endpoint(pooled=False)
        with session(connections, options=at.parameters["options"]) as driver:
            shown = [driver.execute(f"SHOW {name}").fetchone() for name in ("work_mem", "search_path", "DateStyle")]
        assert shown == [("7MB",), ('"$user", public',), ("ISO, DMY",)]
        assert "Seq Scan" in testbed.engine.explain({"one": "SELECT * FROM pg_class"})["one"]


def test_other_people_s_sessions_stop_a_restart(connections: Connections) -> None:
    with on_testbed(new_run(connections)) as testbed, session(connections, application_name="a report"):
        started = testbed.engine.state()
        with pytest.raises(EngineError, match=r"not stopped, because other people have sessions.*\(1 on bench\)"):
            testbed.engine.stop()
        assert testbed.engine.state() == started


def test_cluster_that_could_not_be_put_back_stays_held_and_the_run_is_not_valid(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(connections, tmp_path)
    steps.open_run(run, {"sweeps": ["optimizer"]}, {"by": "a test"})
    steps.take_cluster(run, "lab_db1")
    steps.set_up_cluster(run, "lab_db1")

    def refused(*_: object) -> None:
        raise EngineError("sdw3: net.core.somaxconn could not be put back to '128'\n  it said: no")

    with monkeypatch.context() as broken:
        broken.setattr(steps.setup, "put_back", refused)
        with pytest.raises(EngineError):
            steps.release_cluster(run, "lab_db1")
    steps.summarise(run)
    steps.validate_results(run)
    verdicts = run.archive.need_json("verdicts.json")
    assert not verdicts["valid"]
    (said,) = [each for each in verdicts["verdicts"] if each["says"].startswith("Every cluster was put back")]
    assert not said["passed"] and said["found"] == "0 of 1 were; not lab_db1"
    other = new_run(connections)
    steps.open_run(other, {"sweeps": ["optimizer"]}, {})
    with pytest.raises(LeaseError) as caught:
        steps.take_cluster(other, "lab_db1")
    assert f"cluster 'lab' was left changed by run {run.holder} since " in str(caught.value)
    assert ": sdw3: net.core.somaxconn could not be put back to '128'\n" in str(caught.value)
    assert f"free the cluster with: clusterbench release lab_db1 {run.holder}" in str(caught.value)
    steps.release_cluster(run, "lab_db1")  # the next try of the same run could
    steps.take_cluster(other, "lab_db1")
    steps.release_cluster(other, "lab_db1")


def test_lease_holds_across_files_that_call_the_cluster_and_its_hosts_otherwise(connections: Connections) -> None:
    """The same database host, by another name, of another cluster, with another client."""
    known = Catalog(project_root()).platform("lab_db1")
    renamed = {"driver": known.hosts["etl"].model_copy(update={"roles": ["client"]}), "mdw": known.hosts["db1"]}
    other = known.model_copy(update={"platform": "other", "cluster": "other", "hosts": renamed})
    with Fleet.of(known, connections) as one, Fleet.of(other, connections) as two:
        lease.acquire(one, known, "a/1")
        try:
            with pytest.raises(
                LeaseError, match=r"cluster 'other' is held by run a/1 since .*\(according to its host 'mdw'\)"
            ):
                lease.acquire(two, other, "b/2")
            assert str(lease.holder_of(two, other)).startswith("a/1 since ")
            assert not lease.release(two, other, "b/2"), "what another holds is not given back"
        finally:
            assert lease.release(one, known, "a/1")
        lease.acquire(two, other, "b/2")
        assert lease.release(two, other, ""), "whoever has it"
        assert lease.holder_of(two, other) is None


def test_note_that_cannot_be_read_can_still_be_freed(connections: Connections) -> None:
    known = Catalog(project_root()).platform("lab_db1")
    with Fleet.of(known, connections) as fleet:
        lease.acquire(fleet, known, "a/1")
        ((client, notes), *_) = lease._notes(fleet, known).items()  # those of other labs are in the same folder
        fleet.run_on(client, f": >{lease.FOLDER}/{notes[0]}")
        with pytest.raises(
            LeaseError, match=r"is held by run somebody whose note is unreadable .*clusterbench release lab_db1 --force"
        ):
            lease.acquire(fleet, known, "b/2")
        assert lease.release(fleet, known, "")
        assert lease.holder_of(fleet, known) is None


@pytest.mark.long
def test_drivers_have_a_role_of_their_own_where_the_file_names_one(connections: Connections, tmp_path: Path) -> None:
    with session(connections) as db:
        db.execute("DROP ROLE IF EXISTS bench_driver")
        db.execute("CREATE ROLE bench_driver LOGIN PASSWORD 'd r:iver'")
    driver = changed(connections, "lab_db1_postgres", login="bench_driver", password="d r:iver")("lab_db1_postgres")
    run = run_with(
        lambda name: driver if name == "lab_db1_driver" else connections(name),
        tmp_path,
        driver_database="lab_db1_driver",
    )
    try:
        outcomes = whole(run)
        assert {said for trial, said in outcomes.items() if "lookups" in trial} == {"completed "}
        facts = run.archive.need_json("platforms/lab_db1/facts.json")["engine"]
        assert (facts["driver_login"], facts["driver_is_superuser"]) == ("bench_driver", False)
        with session(connections) as db:
            owned = "SELECT count(*) FROM pg_tables WHERE tableowner = 'bench_driver'"
            assert (db.execute(owned).fetchone() or (0,))[0] > 0
        assert "bench_driver" not in json.dumps(role_settings(connections))
    finally:
        with session(connections) as db:
            db.execute("REASSIGN OWNED BY bench_driver TO CURRENT_USER")
            db.execute("DROP OWNED BY bench_driver")
            db.execute("DROP ROLE bench_driver")
