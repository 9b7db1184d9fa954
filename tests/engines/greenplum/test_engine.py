"""What of the Greenplum engine needs no Greenplum: DDL, generation, what is done about which state, what is said.

Against a real one: ``make test-engine PLATFORM=…``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

import pytest

from clusterbench.base.connections import Connection
from clusterbench.base.datasets import Storage
from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.paths import project_root
from clusterbench.base.sql import raw, statement
from clusterbench.engines import instances
from clusterbench.engines.greenplum import recovery, utilities
from clusterbench.engines.greenplum.cluster import check_counts, place
from clusterbench.engines.greenplum.engine import Greenplum
from clusterbench.engines.instances import Instance
from clusterbench.engines.state import FROZEN, SILENT
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads.key_value.key_value import KeyValueData, insert

TEMPLATE = Catalog(project_root()).read_platform(project_root() / "include/platforms/greenplum_cluster.yaml")
PLATFORM = TEMPLATE.model_copy(update={"may": ["restart", "recover", "full_copy"]})
DATABASE = Connection("greenplum_database", "cdw", 5432, "gpadmin", "s3cret", "bench", {})


def cluster(mirrors: bool = False) -> list[Instance]:
    """One coordinator, two segments on two hosts, and their mirrors on each other's."""
    found = [Instance(-1, "cdw", "cdw", 5432, "/data/gpseg-1")]
    for content, (host, other) in enumerate((("sdw1", "sdw2"), ("sdw2", "sdw1"))):
        mode = "s" if mirrors else "n"
        found.append(Instance(content, host, host, 6000, f"/data/p/gpseg{content}", mode=mode))
        if mirrors:
            found.append(Instance(content, other, other, 7000, f"/data/m/gpseg{content}", "m", "m", "s"))
    return found


class Tried(Greenplum):
    """A Greenplum that notes what is done to it. ``states`` are what it looks like, one look after the other."""

    def __init__(self, *states: list[dict[str, Any]], utilities: tuple[str, ...] = (), mirrors: bool = False) -> None:
        facts = {
            "instances": [i.as_json() for i in cluster(mirrors)],
            "program_directory": "/usr/local/gp/bin",
            "data_directory": "/data/gpseg-1",
            "utilities": list(utilities),
        }
        super().__init__(PLATFORM, cast(Fleet, None), DATABASE, facts)
        self.states, self.done = list(states), list[str]()
        self.is_up = True

    def state(self) -> list[dict[str, Any]]:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def query(self, query: str, limit_s: float | None = None) -> list[dict[str, Any]]:
        if not self.is_up:
            raise EngineError("cannot be used")
        if "probe" in query:
            self.done.append("probe")
        return [] if "pg_stat_activity" in query else [{"up": 1}]

    def try_each(self, scripts: Mapping[str, str], *, timeout_s: float) -> tuple[dict[str, str], dict[str, str]]:
        """Nothing runs."""
        return dict.fromkeys(scripts, ""), {}

    def on_each(self, scripts: Mapping[str, str], remedy: str, *, timeout_s: int = 0) -> dict[str, str]:
        self.is_up = True
        for host, script in scripts.items():
            self.done.append(f"{host}: {script.strip().splitlines()[-1].removesuffix(' >&2 </dev/null')}")
        return dict.fromkeys(scripts, "")


def state(mirrors: bool = False) -> list[dict[str, Any]]:
    return [instances.row(i, 1) for i in cluster(mirrors)]


def changed(rows: list[dict[str, Any]], changes: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    made = copy.deepcopy(rows)
    for number, change in changes.items():
        made[number] |= change
    return made


@pytest.fixture(autouse=True)
def _utilities_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the job that keeps a copy from being cut off; a real cluster shows that one."""
    monkeypatch.setattr(recovery, "_run_to_its_end", utilities.run)


ALL_UTILITIES = ("gpstop", "gpstart", "gprecoverseg", "gpstate")


# Data.


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        (Storage("jkeynum"), 'WITH (appendonly=false) DISTRIBUTED BY ("jkeynum")'),
        (Storage("key", "append_row"), 'WITH (appendonly=true, orientation=row) DISTRIBUTED BY ("key")'),
        (
            Storage("key", "append_column", "zstd", 3),
            'WITH (appendonly=true, orientation=column, compresstype=zstd, compresslevel=3) DISTRIBUTED BY ("key")',
        ),
        (Storage('a"; DROP TABLE b; --'), 'WITH (appendonly=false) DISTRIBUTED BY ("a""; DROP TABLE b; --")'),
    ],
)
def test_storage_is_what_was_declared(storage: Storage, expected: str) -> None:
    assert Tried(state()).table_definition("t", "key bigint", storage) == f'CREATE TABLE "t" (key bigint) {expected}'


def test_rows_are_made_by_all_segments_each_its_remainder() -> None:
    engine = Tried(state())
    assert engine.series(501, 1000) == (
        "(SELECT generate_series(501 + gp_execution_segment() * CAST(1 AS bigint), 1000, 2 * CAST(1 AS bigint)) AS id\n"
        " FROM gp_dist_random('gp_id'))"
    )
    data = KeyValueData.dataset({"rows": 1000}, 7)
    assert insert(data, engine.series(1, 1000)).startswith('INSERT INTO "datajson_1000" (jsonraw, jkeynum, jkey)')
    assert insert(data, engine.series(1, 1000)).endswith(" AS ids(id)) AS generated")


# Processes.


def test_pg_ctl_stops_the_coordinator_first_and_starts_it_last() -> None:
    engine = Tried(state())
    engine.stop()
    engine.start()
    assert engine.done == [
        "cdw: all stop", "sdw1: all stop", "sdw2: all stop", "sdw1: all start", "sdw2: all start", "cdw: all start",
    ]  # fmt: skip


def test_the_cluster_s_own_utilities_are_used_where_they_run() -> None:
    engine = Tried(state(), utilities=ALL_UTILITIES)
    engine.stop()
    engine.is_up = False
    engine.start()
    assert engine.done == ["cdw: gpstop -a -M fast", "cdw: gpstart -a"]


def test_what_is_left_of_a_cluster_without_its_coordinator_is_stopped_by_pg_ctl() -> None:
    """gpstop refuses there."""
    engine = Tried(state(), utilities=ALL_UTILITIES)
    engine.is_up = False
    engine.stop()
    assert engine.done == ["cdw: all stop", "sdw1: all stop", "sdw2: all stop"]


def test_beside_a_coordinator_that_runs_a_segment_is_started_by_pg_ctl() -> None:
    """gpstart refuses to start anything while the coordinator is up."""
    engine = Tried(state(), utilities=ALL_UTILITIES)
    engine.start()
    assert engine.done == ["sdw1: all start", "sdw2: all start", "cdw: all start"]


def test_a_healthy_cluster_is_left_alone() -> None:
    engine = Tried(state(mirrors=True), utilities=ALL_UTILITIES, mirrors=True)
    assert engine.recover() == [] and engine.done == []


def test_a_segment_without_a_mirror_is_started_again() -> None:
    engine = Tried(changed(state(), {2: {"alive": False}}), utilities=ALL_UTILITIES)
    assert engine.recover() == ["segment 1 on sdw2:6000 was down and was started"]
    assert engine.done == ["probe", "sdw2: all end", "sdw1: all start", "sdw2: all start", "cdw: all start"]


def test_a_primary_that_its_mirror_replaced_catches_up_and_takes_its_role_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    healthy = state(mirrors=True)
    down = {"status": "d", "role": "m", "mode": "n", "alive": False}
    failed = changed(healthy, {1: down, 2: {"role": "p", "mode": "n"}})
    catching_up = changed(failed, {1: {"status": "u", "alive": True}})
    in_step = changed(catching_up, {1: {"mode": "s"}, 2: {"mode": "s"}})
    unnoticed = changed(healthy, {1: {"alive": False}})
    looks = [unnoticed, failed, failed, catching_up, in_step, in_step, in_step, healthy]
    engine = Tried(*looks, utilities=ALL_UTILITIES, mirrors=True)
    assert engine.recover() == [
        "segment 0 on sdw1:6000 was recovered by gprecoverseg",
        "segment 0 (mirror) on sdw2:7000 was recovered by gprecoverseg",
    ]
    assert engine.done == ["probe", "sdw1: all end", "cdw: gprecoverseg -a", "cdw: gprecoverseg -a -r"]
    assert engine.states == [healthy]


def test_everything_is_copied_where_a_mirror_cannot_catch_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in paper 004, after its second collapse."""
    healthy = state(mirrors=True)
    failed = changed(healthy, {1: {"status": "d", "mode": "n", "alive": False}, 2: {"mode": "n"}})
    engine = Tried(failed, failed, failed, healthy, utilities=ALL_UTILITIES, mirrors=True)
    ask_each = engine.on_each

    def refuse(scripts: Mapping[str, str], remedy: str, *, timeout_s: int = 0) -> dict[str, str]:
        said = ask_each(scripts, remedy, timeout_s=timeout_s)
        if engine.done[-1] == "cdw: gprecoverseg -a":
            raise EngineError("pg_rewind: could not find common ancestor")
        return said

    monkeypatch.setattr(engine, "on_each", refuse)
    assert engine.recover() == [
        "segment 0 on sdw1:6000 was recovered by gprecoverseg -F, a full copy, because it could not catch up"
    ]
    assert engine.done == ["probe", "sdw1: all end", "cdw: gprecoverseg -a", "cdw: gprecoverseg -a -F"]


def test_a_frozen_segment_is_ended_so_that_its_mirror_takes_over() -> None:
    healthy = state(mirrors=True)
    frozen = changed(healthy, {1: {"problem": FROZEN}})
    ended = changed(healthy, {1: {"alive": False}})
    replaced = changed(ended, {1: {"status": "d", "role": "m", "mode": "n"}, 2: {"role": "p", "mode": "n"}})
    caught_up = changed(replaced, {1: {"status": "u", "alive": True, "mode": "s"}, 2: {"mode": "s"}})
    looks = [frozen, ended, replaced, replaced, caught_up, caught_up, healthy]
    engine = Tried(*looks, utilities=ALL_UTILITIES, mirrors=True)
    assert engine.recover() == [
        "segment 0 on sdw1:6000 was frozen and was ended",
        "segment 0 on sdw1:6000 was recovered by gprecoverseg",
        "segment 0 (mirror) on sdw2:7000 was recovered by gprecoverseg",
    ]
    assert engine.done == ["sdw1: all end", "probe", "sdw1: all end", "cdw: gprecoverseg -a", "cdw: gprecoverseg -a -r"]


def test_a_segment_that_is_slow_is_away_and_never_ended() -> None:
    slow, healthy = changed(state(), {1: {"problem": SILENT}}), state()
    engine = Tried(slow, healthy)
    with pytest.raises(EngineAwayError) as caught:
        engine.recover()
    assert engine.done == []
    assert str(caught.value) == (
        "platform 'greenplum_cluster': segment 0 on sdw1:6000 runs and does not answer: it is overloaded, or hung. "
        "clusterbench ends no server that may only be slow; look at its log"
    )
    assert engine.recover() == [] and engine.done == []


@pytest.mark.parametrize("broken", [{"alive": False}, {"problem": FROZEN}, {"status": "d"}, {"role": "m"}])
def test_without_leave_nothing_is_brought_back(broken: dict[str, Any]) -> None:
    engine = Tried(changed(state(), {1: broken}), utilities=ALL_UTILITIES)
    engine.platform = TEMPLATE
    with pytest.raises(EngineError) as caught:
        engine.recover()
    assert engine.done == []
    assert str(caught.value) == (
        "platform 'greenplum_cluster': down or frozen: segment 0 on sdw1:6000. Bring it back; or: the platform's file "
        "does not let clusterbench start servers that are down, end what is left of them, and have mirrors catch up "
        "(gprecoverseg); to allow it, write 'may: [recover]' into include/platforms/greenplum_cluster.yaml"
    )


def test_full_copy_needs_leave_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = changed(state(mirrors=True), {1: {"status": "d", "mode": "n", "alive": False}, 2: {"mode": "n"}})
    engine = Tried(failed, utilities=ALL_UTILITIES, mirrors=True)
    engine.platform = TEMPLATE.model_copy(update={"may": ["recover"]})

    def refuse(server: Tried, command: str) -> None:
        server.done.append(command)
        raise EngineError("could not find common ancestor")

    monkeypatch.setattr(recovery, "_run_to_its_end", refuse)
    with pytest.raises(EngineError, match=r"(?s)ancestor.*a full copy was not begun.*'may: \[recover, full_copy\]'"):
        engine.recover()
    assert engine.done[-1] == "gprecoverseg -a"


def test_nothing_is_stopped_without_leave_or_while_others_have_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Tried(state())
    engine.platform = TEMPLATE
    with pytest.raises(EngineError, match=r"its servers may not be stopped: .*'may: \[restart\]'"):
        engine.stop()
    engine.platform = PLATFORM
    rows = [{"login": "ada", "database": "sales", "sessions": 2}, {"login": "bob", "database": "hr", "sessions": 1}]
    monkeypatch.setattr(engine, "query", lambda *_: rows)
    with pytest.raises(EngineError) as caught:
        engine.stop()
    assert engine.done == []
    assert str(caught.value) == (
        "platform 'greenplum_cluster': not stopped, because other people have sessions on the server: ada (2 on "
        "sales), bob (1 on hr). Wait until they have gone, or ask them to go; clusterbench ends nobody's session"
    )


def test_what_a_killed_coordinator_s_sessions_left_on_segments_is_ended_before_it_is_started() -> None:
    healthy = state()
    killed = changed(healthy, {0: {"alive": False}})
    engine = Tried(killed, healthy)
    engine.is_up = False
    assert engine.recover() == ["coordinator on cdw:5432 was down and was started"]
    ended = ["cdw: all end", "sdw1: all end_sessions", "sdw2: all end_sessions"]
    assert engine.done == [*ended, "sdw1: all start", "sdw2: all start", "cdw: all start"]


def test_without_gprecoverseg_a_person_is_told_what_to_do() -> None:
    engine = Tried(changed(state(mirrors=True), {1: {"status": "d", "role": "m"}}), mirrors=True)
    with pytest.raises(EngineError) as caught:
        engine.recover()
    assert str(caught.value) == (
        "platform 'greenplum_cluster': not in its role: segment 0 on sdw1:6000; there is no gprecoverseg here; "
        "recover it yourself (gprecoverseg -a, then gprecoverseg -a -r)"
    )


# What it claims.


def test_another_number_of_segments_than_declared_is_said() -> None:
    engine = Tried(state())
    with pytest.raises(EngineError) as caught:
        check_counts(engine.platform, cluster())
    assert str(caught.value) == (
        "platform 'greenplum_cluster': declared are 12 segments per host, found 1 on sdw1, 1 on sdw2; change "
        "'segments_per_host' in its file, or the cluster"
    )


def test_without_hosts_nobody_can_say_what_is_where_and_nothing_is_compared() -> None:
    engine = Tried(state())
    client = {name: host for name, host in engine.platform.hosts.items() if "client" in host.roles}
    engine.platform = engine.platform.model_copy(update={"hosts": client})
    check_counts(engine.platform, cluster())


def test_another_number_of_mirrors_than_declared_is_said() -> None:
    engine = Tried(state())
    engine.platform = engine.platform.model_copy(update={"segments_per_host": None, "mirrors_per_host": 2})
    with pytest.raises(EngineError) as caught:
        check_counts(engine.platform, [i for i in cluster() if not i.is_mirror])
    assert str(caught.value) == (
        "platform 'greenplum_cluster': declared are 2 mirrors per host, found none; change 'mirrors_per_host' in its "
        "file, or the cluster"
    )


def test_an_instance_on_a_host_that_the_file_does_not_name_is_said() -> None:
    engine = Tried(state())
    names = {"cdw": ["cdw"], "sdw1": ["sdw1"]}
    row = {"content": 9, "role": "p", "preferred_role": "p", "mode": "n", "status": "u", "port": 6000}
    with pytest.raises(EngineError) as caught:
        place(engine, [row | {"hostname": "sdw5", "address": "10.0.0.5", "datadir": "/data"}], names)
    assert str(caught.value) == (
        "platform 'greenplum_cluster' is not the cluster that it reaches:\n"
        "  segment 9 on 10.0.0.5:6000, host name 'sdw5', is on none of the platform's hosts\n"
        "Its file names cdw, sdw1, sdw2, sdw3, sdw4; add the missing hosts with the role 'segment', "
        "under the names above"
    )


def test_pages_in_memory_are_counted_where_they_are() -> None:
    """A join would send them to other segments first: seen on 6.24.3, of 211 pages 126 were found."""
    counts = statement("postgres", "buffered", content=raw("c()"), pg_buffercache=raw("b"), database_oid=1)
    assert counts.startswith("SELECT c() AS content")
    assert all(word not in counts for word in ("JOIN", " IN ", "UNION"))
