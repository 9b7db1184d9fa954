"""Names and passwords that would do harm if anything pasted them, on real servers; and who sees a secret meanwhile.

One role, one database, one work folder and one prefix of the archive, all of them hostile, serve a whole run.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest
from botocore.exceptions import ClientError
from psycopg import sql

from clusterbench.base.archive import RunArchive, find_run
from clusterbench.base.connections import Connections, from_file
from clusterbench.base.errors import ArchiveError, HostError
from clusterbench.base.paths import project_root
from clusterbench.hosts import setup
from clusterbench.hosts.fleet import Fleet
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.setup import Setup
from clusterbench.trial.protocol import run_trial
from clusterbench_lab import Lab
from tests.integration.helpers import changed, new_run, on_testbed, store_of, trial, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

HACKED = Path(f"/tmp/hacked-{uuid.uuid4().hex[:6]}")  # short, and where everybody may write
MARK = f"s3cr3t-{uuid.uuid4().hex[:8]}"
PASSWORD = f"{MARK}'; DROP TABLE victim; -- \"$(touch {HACKED})\" `touch {HACKED}` \\ \\' : % %s é"
ROLE = f"ro'le\" $(touch {HACKED});--"
DATABASE = f"d=b'\" $(touch {HACKED}) \\"
FOLDER = f"wo'rk\" $(touch {HACKED});é"
PREFIX = "team/bench"
PLATFORM = Catalog(project_root()).platform("lab_db1")
HOSTS = ("client", "etl", "db1")


@dataclass
class Watched:
    """What anybody on the machine could see during the runs, and what was asked of object storage."""

    secrets: dict[str, str]
    work_dirs: list[Path]
    seen: set[str] = field(default_factory=set)
    looks: int = 0
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    logged: str = ""

    def look(self) -> None:
        """Command lines and environments of all processes, and files that others may read."""
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                self._note(process / name, f"{name} of a process")
        for folder in self.work_dirs:
            for parent, _, names in os.walk(folder):  # which bears that folders vanish meanwhile
                for name in names:
                    self._note_file(Path(parent) / name)
        self.looks += 1

    def _note_file(self, path: Path) -> None:
        try:
            mode, size = path.stat().st_mode, path.stat().st_size
        except OSError:
            return  # it was there a moment ago
        if path.is_file() and mode & 0o077 and size < 1_000_000:
            self._note(path, f"{path}, which others may read")

    def _note(self, path: Path, what: str) -> None:
        try:
            content = path.read_bytes()
        except OSError:
            return
        self.seen |= {f"{name} in {what}" for name, secret in self.secrets.items() if secret.encode() in content}


@dataclass
class Ran:
    """The runs, when all is over."""

    watched: Watched
    connections: Connections
    smoke: Run
    retail: Run
    pooled: str


@pytest.fixture(scope="module")
def hostile(lab: Lab) -> Iterator[Connections]:
    """The lab's connections with a role, a database, work folders and a prefix of these names."""
    lab.up(airflow=False)
    there = from_file(lab.lab_dir / "connections.json")
    role, database = sql.Identifier(ROLE), sql.Identifier(DATABASE)
    known = there("lab_db1_postgres")
    found = changed(there, "lab_db1_postgres", login=ROLE, password=PASSWORD, schema=DATABASE)
    found = changed(found, "clusterbench_archive", extra={"prefix": f"/{PREFIX}/"})
    for host in HOSTS:
        found = changed(found, f"lab_{host}", extra={"work_dir": f"{there(f'lab_{host}').extra['work_dir']}/{FOLDER}"})

    def as_owner() -> psycopg.Connection:
        return psycopg.connect(
            host=known.host, port=known.port, user=known.login, password=known.password, dbname=known.schema,
            autocommit=True,
        )  # fmt: skip

    with as_owner() as owner:
        verifier = owner.pgconn.encrypt_password(PASSWORD.encode(), ROLE.encode(), b"scram-sha-256").decode()
        owner.execute(sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(role, sql.Literal(verifier)))
        owner.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role))
    with psycopg.connect(
        host=known.host, port=known.port, user=ROLE, password=PASSWORD, dbname=DATABASE, autocommit=True
    ) as own:
        own.execute("CREATE TABLE victim (x int)")
    try:
        yield found
    finally:
        lab.up(airflow=False)
        with as_owner() as owner:
            owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))
            owner.execute(sql.SQL("DROP ROLE {}").format(role))
        HACKED.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def ran(lab: Lab, hostile: Connections) -> Iterator[Ran]:
    """Lookups, cold and warm, pooled lookups and a load, by steps, with every log at its most talkative."""
    secrets = {
        "the database's password": MARK,
        "the archive's secret key": hostile("clusterbench_archive").password,
        "the private key": Path(hostile("lab_client").extra["key_file"]).read_text().splitlines()[2],
    }
    watched = Watched(secrets, [Path(hostile(f"lab_{host}").extra["work_dir"]) for host in HOSTS])
    with pytest.MonkeyPatch.context() as patch, Logged(watched), Watching(watched):
        patch.setattr("clusterbench.base.archive.boto3.client", _noting(watched))
        smoke = _whole_run(new_run(hostile), {"sweeps": ["lookups"], "repetitions": 1})
        pooled = _pooled_trial(hostile)
        retail = _whole_run(
            new_run(hostile, "retail"), {"scale": "smoke", "platforms": ["lab_db1"], "sweeps": ["data_load"]}
        )
    yield Ran(watched, hostile, smoke, retail, pooled)


def _whole_run(run: Run, choices: dict[str, Any]) -> Run:
    steps.open_run(run, choices, {"by": "a test"})
    steps.take_cluster(run, "lab_db1")
    try:
        steps.set_up_cluster(run, "lab_db1")
        steps.generate_data(run, "lab_db1")
        for planned in steps.validate_data(run, "lab_db1"):
            record = steps.measure(run, "lab_db1", planned.id)
            assert record.outcome in ("completed", "not_applicable"), record.reason
    finally:
        steps.release_cluster(run, "lab_db1")
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    return run


def _pooled_trial(hostile: Connections) -> str:
    """Its outcome, with session settings that are hostile, too."""
    settings = {"application_name": f"'; DROP TABLE victim; $(touch {HACKED})"}
    made = trial(pooling="pgbouncer", rows=10_000)
    with on_testbed(new_run(hostile)) as testbed:
        testbed.engine.facts()
        record = run_trial(replace(made, settings=settings), testbed)
    return record.reason or record.outcome


class Logged:
    """Everything that any library logs at any level, as text."""

    def __init__(self, watched: Watched) -> None:
        self.watched, self.lines = watched, list[str]()

    def __enter__(self) -> None:
        self.handler = logging.Handler()
        self.handler.emit = lambda record: self.lines.append(record.getMessage())  # type: ignore[method-assign]
        self.root = logging.getLogger()
        self.level = self.root.level
        self.root.addHandler(self.handler)
        self.root.setLevel(logging.DEBUG)

    def __exit__(self, *_: object) -> None:
        self.root.setLevel(self.level)
        self.root.removeHandler(self.handler)
        self.watched.logged = "\n".join(self.lines)


class Watching:
    """A thread that looks again and again."""

    def __init__(self, watched: Watched) -> None:
        self.watched, self.over = watched, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self.over.wait(0.05):
            self.watched.look()

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=60)


def _noting(watched: Watched) -> Any:
    """``boto3.client`` of which every request is noted."""
    make = boto3.client

    def note(params: dict[str, Any], model: Any, **_: Any) -> None:
        watched.requests.append((model.name, params))

    def made(*arguments: Any, **named: Any) -> Any:
        client = make(*arguments, **named)
        client.meta.events.register("provide-client-params.s3", note)
        return client

    return made


# What came of it.


def test_a_whole_run_with_hostile_names_is_valid(ran: Ran) -> None:
    """Role, database and work folders; cold trials restart the server, loads read files, PgBouncer is between."""
    for run in (ran.smoke, ran.retail):
        steps.conclude(run)
        assert run.archive.verify() == []
    assert ran.pooled == "completed"


def test_nothing_of_a_name_or_a_password_was_run(ran: Ran) -> None:
    assert not HACKED.exists()
    known = ran.connections("lab_db1_postgres")
    with psycopg.connect(host=known.host, port=known.port, user=ROLE, password=PASSWORD, dbname=DATABASE) as connection:
        assert connection.execute("SELECT count(*) FROM victim").fetchone() == (0,)


def test_no_secret_is_in_a_command_line_an_environment_or_a_file_for_others(ran: Ran) -> None:
    assert ran.watched.looks > 20
    assert ran.watched.seen == set()


def test_a_secret_would_have_been_seen(tmp_path: Path) -> None:
    """The watch itself: a command line, an environment and a readable file that hold one."""
    import subprocess

    shown = tmp_path / "shown"
    shown.write_text("a " + MARK)
    shown.chmod(0o644)
    watched = Watched({"it": MARK}, [tmp_path])
    with (
        subprocess.Popen(["/bin/sleep", "600"], env={"X": MARK}) as one,
        subprocess.Popen(["/bin/sh", "-c", f"sleep 600; : {MARK}"]) as other,
    ):
        try:
            for child, shows in ((one, "environ"), (other, "cmdline")):
                wait_for(lambda of=f"/proc/{child.pid}/{shows}": MARK in Path(of).read_text(), "the child has started")
            watched.look()
        finally:
            one.kill()
            subprocess.run(["pkill", "-P", str(other.pid)], check=False)
            other.kill()
    assert {said.split(" in ")[1] for said in watched.seen} == {
        "cmdline of a process", "environ of a process", f"{shown}, which others may read",
    }  # fmt: skip


def test_no_secret_is_logged_at_any_level(ran: Ran, capfd: pytest.CaptureFixture[str]) -> None:
    assert "botocore" in ran.watched.logged or "put_object" in ran.watched.logged.lower(), "libraries were heard"
    assert [name for name, secret in ran.watched.secrets.items() if secret in ran.watched.logged] == []


def test_no_secret_is_in_an_object_of_the_archive(ran: Ran) -> None:
    for run in (ran.smoke, ran.retail):
        for key in run.archive.keys(""):
            content = run.archive.store.get(run.archive.prefix + key) or b""
            assert not [name for name, secret in ran.watched.secrets.items() if secret.encode() in content], key


def test_no_secret_stays_on_a_host_or_in_a_server_s_log(ran: Ran, lab: Lab) -> None:
    logs = [path for path in lab.lab_dir.rglob("*log*") if path.is_file()]
    left = [path for folder in ran.watched.work_dirs for path in folder.rglob("*") if path.is_file()]
    assert logs and left
    for path in [*logs, *left]:
        content = path.read_bytes()
        assert not [name for name, secret in ran.watched.secrets.items() if secret.encode() in content], path


# The archive below a prefix.


def test_everything_asked_of_object_storage_is_below_the_prefix_and_allowed_by_our_policy(ran: Ran) -> None:
    """S3Proxy cannot judge by a policy, so the requests of whole runs are judged here by ``include/s3/policy.json``."""
    asked = {(name, bool(_allowing(name, params))) for name, params in ran.watched.requests}
    assert asked == {("PutObject", True), ("GetObject", True), ("ListObjectsV2", True)}
    used = {action for name, params in ran.watched.requests for action in _allowing(name, params)}
    granted = {action for each in _policy() for action in _listed(each["Action"])}
    assert used == granted, "nothing is granted that is not used"


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("GetObject", {"Key": "team/benchmark/x"}),
        ("PutObject", {"Key": "elsewhere/x"}),
        ("DeleteObject", {"Key": f"{PREFIX}/smoke/x"}),
        ("ListObjectsV2", {"Prefix": ""}),
        ("ListObjectsV2", {"Prefix": "team/"}),
        ("ListObjectsV2", {}),
    ],
)
def test_the_policy_allows_nothing_else(name: str, params: dict[str, str]) -> None:
    assert _allowing(name, {"Bucket": "clusterbench", **params}) == []


def _policy() -> list[dict[str, Any]]:
    text = (project_root() / "include" / "s3" / "policy.json").read_text()
    statements: list[dict[str, Any]] = json.loads(text.replace("BUCKET", "clusterbench").replace("PREFIX", PREFIX))[
        "Statement"
    ]
    return statements


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _allowing(name: str, params: dict[str, Any]) -> list[str]:
    """The actions of the policy by which a request is allowed, as AWS evaluates it."""
    action = {"ListObjectsV2": "s3:ListBucket"}.get(name, f"s3:{name}")
    resource = f"arn:aws:s3:::{params['Bucket']}" + (f"/{params['Key']}" if "Key" in params else "")
    found = []
    for each in _policy():
        wanted = each.get("Condition", {}).get("StringLike", {}).get("s3:prefix")
        if wanted is not None and not ("Prefix" in params and fnmatchcase(params["Prefix"], wanted)):
            continue
        if action in _listed(each["Action"]) and fnmatchcase(resource, each["Resource"]):
            found.append(action)
    return found


def test_runs_below_a_prefix_are_found_there_and_nowhere_else(ran: Ran, lab: Lab) -> None:
    below, run = store_of(ran.connections), ran.smoke
    assert ran.smoke.archive.url == f"s3://clusterbench/{PREFIX}/smoke/{run.run_id}/"
    assert find_run(below, run.run_id).url == find_run(below, run.holder).url == run.archive.url
    assert set(below.folders("")) >= {"smoke", "retail", "_checksums"}
    everything = store_of(from_file(lab.lab_dir / "connections.json"))
    assert everything.get(f"{PREFIX}/{run.holder}/manifest.json") == below.get(f"{run.holder}/manifest.json")
    assert below.get(f"{PREFIX}/{run.holder}/manifest.json") is None
    with pytest.raises(ArchiveError, match=r"no run .* in the archive"):
        find_run(everything, run.run_id)


@pytest.mark.parametrize(("given", "prefix"), [("", ""), ("/", ""), ("a", "a/"), ("/a/b.c/", "a/b.c/"), (None, "")])
def test_a_prefix_has_one_slash_at_its_end(connections: Connections, given: str | None, prefix: str) -> None:
    store = store_of(changed(connections, "clusterbench_archive", extra={"prefix": given}))
    assert (store.prefix, store.url) == (prefix, f"s3://clusterbench/{prefix}")


@pytest.mark.parametrize("given", ["a//b", "../a", "a/../b", "a b", "a\n", "$(x)", "é", "."])
def test_a_prefix_that_is_none_is_refused(connections: Connections, given: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        store_of(changed(connections, "clusterbench_archive", extra={"prefix": given}))
    assert str(caught.value) == (
        f"connection 'clusterbench_archive': 'prefix' of its extra is {given!r}; allowed are names of letters, digits, "
        "'.', '_' and '-', with slashes between them"
    )


def test_what_is_not_there_is_not_there_also_where_the_server_only_denies(connections: Connections) -> None:
    """As AWS does for who may list below a prefix only; here the answer is put into a real client's mouth."""
    store = store_of(connections)
    store.put_new("denied/there", b"x")

    def denied(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "Access Denied"}}, "GetObject")

    store.client.meta.events.register("before-parameter-build.s3.GetObject", denied)
    assert store.get("denied/absent") is None
    assert RunArchive(store, "smoke", "absent").get_json("run.json") is None
    with pytest.raises(ArchiveError, match=r"could not read 'denied/there': access denied \(AccessDenied\)"):
        store.get("denied/there")


# Host keys.


def test_another_host_at_the_address_is_refused_by_every_way_in(connections: Connections, tmp_path: Path) -> None:
    """A real sshd that knows our key and has a key of its own: it gets no script and no file, and gives none."""
    etl = connections("lab_etl")
    swapped = changed(connections, "lab_db1", host=etl.host, port=etl.port)
    refused = r"host db1 \(.*its host key is not the pinned one"
    place = f"{etl.extra['work_dir']}/not-for-you"
    for way in (
        lambda fleet: fleet.run(["db1"], f"mkdir {place}"),
        lambda fleet: fleet.run_each({"db1": f"mkdir {place}"}),
        lambda fleet: fleet.put("db1", place, {"x": "x"}),
        lambda fleet: fleet.put_each({"db1": (place, {"x": "x"})}),
        lambda fleet: fleet.fetch("db1", "/etc", ["hostname"], tmp_path / "fetched"),
    ):
        with Fleet.of(PLATFORM, swapped) as fleet, pytest.raises(HostError, match=refused):
            way(fleet)
    with Fleet.of(PLATFORM, swapped) as fleet:
        assert re.search(refused, fleet.fetch_each({"db1": ("/etc", tmp_path / "fetched")}, ["hostname"])["db1"])
    assert not list((tmp_path / "fetched").iterdir())
    with Fleet.of(PLATFORM, connections) as fleet:
        assert fleet.run_on("db1", f"ls {place} 2>/dev/null || echo absent").output == "absent\n"


def test_a_run_by_steps_stops_at_another_host_key(connections: Connections) -> None:
    etl = connections("lab_etl")
    run = new_run(changed(connections, "lab_client", host=etl.host, port=etl.port))
    steps.open_run(run, {"sweeps": ["optimizer"]}, {})
    with pytest.raises(HostError, match=r"host client .*its host key is not the pinned one"):
        steps.take_cluster(run, "lab_db1")


# Values that go to a shell or to a server's files.


def test_hostile_settings_of_hosts_are_words(connections: Connections) -> None:
    """Of a kernel setting that no kernel has, so that nothing of this machine is changed by whoever may."""
    value = f'1\'; touch {HACKED}; echo "$(touch {HACKED})" \\'
    declared = Setup.model_validate({"hosts": [{"sysctl": {"kernel.no_such_thing": value}}]})
    declaring = PLATFORM.model_copy(update={"setup": declared, "may": ["host_settings"]})
    with Fleet.of(PLATFORM, connections) as fleet:
        with pytest.raises(HostError) as caught:
            setup.set_up(declaring, fleet)
        setup.put_back(declaring, fleet)  # there is nothing to put back, so nothing stands in the next run's way
        notes = fleet.run(fleet.names, f"cd {fleet.work_dir('db1')}; cat setup/* 2>/dev/null || true")
    assert {answer.output for answer in notes.values()} == {""}
    assert f"sysctl kernel.no_such_thing: could not be set to '{value}'" in str(caught.value)
    assert not HACKED.exists()


def test_hostile_settings_of_the_server_are_values_and_taken_back(connections: Connections) -> None:
    """A backslash begins an escape in postgresql.conf, a quote ends the text: the server reads what was declared."""
    prefix = f"it's \\t \\\\ \\' $(touch {HACKED}) %m'; port = 1 # \\"
    declared = {"log_line_prefix": prefix, "cluster_name": 'lab"; x'}
    with on_testbed(new_run(connections), settings=declared, may=["restart", "engine_settings"]) as testbed:
        before = testbed.engine.settings(declared)
        try:
            testbed.engine.set_up()
            assert testbed.engine.settings(declared) == declared
        finally:
            testbed.engine.tear_down()
        assert testbed.engine.settings(declared) == before
    assert not HACKED.exists()


def test_a_server_s_setting_that_may_hold_a_password_is_not_archived(connections: Connections) -> None:
    with on_testbed(new_run(connections)) as testbed:
        name = testbed.engine.database.login  # type: ignore[attr-defined]
        alter = sql.SQL("ALTER ROLE {} SET {} = {}")
        private = {"app.jwt_secret": MARK, "app.password": MARK, "app.plain": "seen"}
        with testbed.engine.connect() as connection:  # type: ignore[attr-defined]
            for setting, value in private.items():
                connection.execute(alter.format(sql.Identifier(name), sql.Identifier(*setting.split(".")), value))
            connection.execute(sql.SQL("ALTER SYSTEM SET primary_conninfo = {}").format(f"password={MARK}"))
            connection.execute("SELECT pg_reload_conf()")
        try:
            found = testbed.engine.facts()
        finally:
            testbed.engine.execute(sql.SQL("ALTER ROLE {} RESET ALL").format(sql.Identifier(name)).as_string(None))
            testbed.engine.execute("ALTER SYSTEM RESET primary_conninfo")
            testbed.engine.execute("SELECT pg_reload_conf()")
    assert MARK not in json.dumps(found)
    assert "primary_conninfo" in found["settings"] or "app.jwt_secret" in found["settings"]


def test_hostile_file_names_go_and_come_as_they_are(connections: Connections, tmp_path: Path) -> None:
    names = [f'a\'b "$(touch {HACKED})"'.replace("/", "_"), "-rf", "x;y", "*"]
    with Fleet.of(PLATFORM, connections) as fleet:
        place = f"{fleet.work_dir('etl')}/names {FOLDER}"
        fleet.put("etl", place, {name: f"this is {name}" for name in names})
        fleet.fetch("etl", place, names[:3], tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        name: f"this is {name}" for name in names[:3]
    }
    assert not HACKED.exists()


def test_the_names_of_a_platform_cannot_be_hostile_at_all() -> None:
    """What becomes part of a path or of a key is refused by the schema: see ``connection_hostile.yaml`` and others."""
    from pydantic import ValidationError

    good = PLATFORM.model_dump()
    for field_name in ("platform", "cluster", "engine", "database"):
        for hostile_name in ("../x", "a b", "x;y", "$(x)", "x\n", "é'", ""):
            with pytest.raises(ValidationError):
                type(PLATFORM).model_validate({**good, field_name: hostile_name})
    for hostile_name in ("../x", "a b", "$(x)"):
        with pytest.raises(ValidationError):
            type(PLATFORM).model_validate({**good, "hosts": {hostile_name: good["hosts"]["client"]}})
