"""What would break a first run is found before it, by name: defects are planted on real hosts and a real server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from clusterbench.base.archive import Store
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.paths import project_root
from clusterbench.cli.main import main
from clusterbench.engines import Engine, engine_class
from clusterbench.hosts.fleet import Fleet
from clusterbench.run.doctor import hosts, server
from clusterbench.run.doctor.finding import Finding, folded
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Host, HostSpeed
from clusterbench_lab import Lab
from tests.integration.helpers import changed, new_run, on_testbed

pytestmark = pytest.mark.lab
LAB_DB1 = Catalog(project_root()).platform("lab_db1")


def bad(findings: list[Finding], verdict: str = "bad") -> dict[str, list[tuple[str, str]]]:
    """What -> (where, found) of those."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in findings:
        if one.verdict == verdict:
            assert one.remedy, f"{one}: what to do?"
            found.setdefault(one.what, []).append((one.where, one.found))
    return found


def with_hosts(**more: Host) -> Platform:
    return LAB_DB1.model_copy(update={"hosts": LAB_DB1.hosts | more})


@pytest.fixture(autouse=True)
def _command_line_uses_the_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_CONNECTIONS", str(lab.layout.connections_file))


def test_lab_needs_nothing_to_be_mended(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "lab_db1", "--all"]) == 0
    said = capsys.readouterr().out
    assert "nothing to fix before a run" in said
    for what in ("login", "work folder", "program pgbench", "telemetry", "clock", "archive", "other sessions"):
        assert what in said


def test_an_archive_that_cannot_be_had_hides_nothing_else(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = json.loads(lab.layout.connections_file.read_text())
    del known["clusterbench_archive"]
    (tmp_path / "connections.json").write_text(json.dumps(known))
    monkeypatch.setenv("CLUSTERBENCH_CONNECTIONS", str(tmp_path / "connections.json"))
    assert main(["doctor", "lab_db1", "--all"]) == 1
    said = capsys.readouterr().out
    assert "unknown connection 'clusterbench_archive'" in said and "1 to fix before a run" in said
    for what in ("login", "program pgbench", "drivers' role", "reads", "other sessions"):
        assert what in said


def test_defects_of_hosts_are_found_by_name(connections: Connections) -> None:
    """Six at once, so that one does not hide another."""
    shared = connections("lab_db1").extra["work_dir"]
    planted = {
        "lab_etl": {**connections("lab_etl").extra, "work_dir": shared},
        "open": {**connections("lab_db2").extra, "host_key": "", "no_host_key_check": True},
        "ghost": connections("lab_db2").extra,
    }

    def find(name: str) -> Connection:
        found = connections("lab_db2" if name in {"open", "ghost"} else name)
        known = changed(lambda _: found, name if name == found.id else found.id, extra=planted.get(name, {}))(found.id)
        return changed(lambda _: known, known.id, port=1)(known.id) if name == "ghost" else known

    ghost, unpinned = Host(ssh="ghost", roles=["segment"]), Host(ssh="open", roles=["segment"])
    platform = with_hosts(ghost=ghost, open=unpinned).model_copy(
        update={"may": ["drop_caches"], "page_cache": "drop_caches", "data_network": "10.99.0.0/16"}
    )
    with Fleet.of(platform, find) as fleet:
        findings = list(hosts.examine(fleet, platform))
    wrong, known = bad(findings), bad(findings, "look")
    assert [where for where, _ in wrong["login"]] == ["ghost"] and "cannot be reached" in wrong["login"][0][1]
    assert dict(wrong["work folder"]) == {
        "etl": f"{shared} is shared with db1",
        "db1": f"{shared} is shared with etl",
    }
    assert known["login"] == [("open", "by SSH, but its key is not checked")]
    refused = "not allowed: /usr/bin/tee /proc/sys/vm/drop_caches"
    if os.geteuid() == 0:  # else the login is the one that runs the tests, who may have more rights
        assert {found for _, found in wrong["root"]} == {refused}
    assert "0 addresses in data_network 10.99.0.0/16" in wrong["addresses"][0][1]
    assert {one.what for one in findings if one.verdict == "good"} >= {"program bash", "telemetry", "clock"}


def test_tools_are_looked_for_where_the_platform_s_file_needs_them(connections: Connections) -> None:
    plain = Catalog(project_root()).platform("lab_db1")
    asks = plain.model_copy(update={"may": ["profile", "measure_disks"], "host_speed": HostSpeed(disk_mib=16)})
    with Fleet.of(plain, connections) as fleet:
        found, none = (
            [one for one in hosts.examine(fleet, platform) if one.what == "tools"] for platform in (asks, plain)
        )
    assert [(one.where, one.found, one.verdict) for one in found] == [
        ("db1", "sysbench, iperf3, fio, perf: all installed", "good")
    ]
    assert none == []
    lacks: Any = SimpleNamespace(run=lambda names, _: {name: SimpleNamespace(output="fio\nperf\n") for name in names})
    wrong = list(hosts._tools(lacks, asks, ["client", "db1"]))
    assert [(one.where, one.found, one.verdict) for one in wrong] == [
        ("db1", "fio is not installed", "bad"),
        ("db1", "perf is not installed", "bad"),
    ]
    assert "'host_speed' with disk_mib needs it" in wrong[0].remedy and "linux-perf" in wrong[1].remedy


@contextmanager
def asked(connections: Connections, **changes: Any) -> Iterator[Engine]:
    with on_testbed(new_run(connections), **changes) as testbed:
        yield testbed.engine


def test_defects_of_the_server_are_found_by_name(connections: Connections) -> None:
    at = connections("lab_db1_postgres")
    with (
        psycopg.connect(
            host=at.host, port=at.port, user=at.login, password=at.password, dbname=at.schema, application_name="report"
        ),
        asked(connections, service="postgresql@15-main") as engine,
    ):
        findings = list(server.examine(engine))
    assert bad(findings) == {
        "service": [("database", "'service: postgresql@15-main', and the server belongs to no unit")]
    }
    known = bad(findings, "look")
    assert known["drivers' role"] == [("database", f"{at.login}, a superuser")]
    assert known["drivers' session"] == [("client", "not encrypted")]
    assert known["other sessions"] == [("database", f"{at.login} (1 on {at.schema})")]


def test_database_that_lets_nobody_in_is_told_with_its_connection(connections: Connections) -> None:
    wrong = changed(connections, "lab_db1_postgres", password="wrong")
    with Fleet.of(LAB_DB1, wrong) as fleet:
        engine = engine_class(LAB_DB1)(LAB_DB1, fleet, wrong("lab_db1_postgres"))
        ((_, found),) = bad(list(server.examine(engine)))["engine"]
    assert "password authentication failed" in found and "that connection 'lab_db1_postgres' is right" in found


def test_archive_that_writes_over_what_is_there_is_found(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a store that knows nothing of If-None-Match does: the header is left out on its way to a real server."""
    store = Store.of(connections("clusterbench_archive"))
    assert [one.verdict for one in server.examine_archive(store)] == ["good"]
    put = store.client.put_object
    monkeypatch.setattr(
        store.client, "put_object", lambda **said: put(**{key: said[key] for key in said if key != "IfNoneMatch"})
    )
    ((_, found),) = bad(list(server.examine_archive(store)))["archive"]
    assert "overwrote s3://" in found and "although the request forbade it (If-None-Match)" in found
    monkeypatch.undo()
    again = [one.verdict for one in server.examine_archive(store)]
    assert again == ["good"], "it is judged by what it does now, not by what was written over before"
    nowhere = changed(connections, "clusterbench_archive", extra={"bucket": "no-such-bucket"})
    assert bad(list(server.examine_archive(Store.of(nowhere("clusterbench_archive")))))["archive"]


def test_hosts_that_are_alike_are_one_line_and_what_is_bad_comes_first() -> None:
    alike = [Finding("clock", f"sdw{n}", "within 0.1 s") for n in range(64)]
    lines = folded(
        [*alike, Finding("login", "sdw3", "no", "bad", "mend it"), Finding("tls", "client", "no", "look", "x")]
    )
    assert [(one.verdict, one.where) for one in lines] == [
        ("bad", "sdw3"),
        ("look", "client"),
        ("good", "sdw0, sdw1, sdw2 and 61 more"),
    ]


def test_platform_is_written_from_what_the_database_tells(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("clusterbench.cli.discover.project_root", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "include/platforms").mkdir(parents=True)
    assert main(["discover", "mine", "--database", "lab_db1_postgres"]) == 0
    made = Path("mine_connections.json")
    assert json.loads(made.read_text())["mine_db"]["host"] == connections("lab_db1_postgres").host
    assert oct(made.stat().st_mode)[-3:] == "600"
    text = (tmp_path / "include/platforms/mine.yaml").read_text()
    assert "\nmay: []\n" in text and "\ntemplate: true\n" in text and "  fsync: 'on'\n" in text
    assert main(["discover", "mine", "--database", "lab_db1_postgres"]) == 1
    assert "exists already and is not overwritten" in capsys.readouterr().err
