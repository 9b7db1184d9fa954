"""Is a slowdown's cause named? Causes are planted in the lab, one a week, and the first line of "why" is read.

``python -m clusterbench_lab.bench.planted_causes [cause ...]``, as root, with the lab and its Airflow up. It makes the
equal runs that are missing, plants a cause, starts the weekly run in Airflow, reads the week's archive, and takes the
cause away. The planted run is withdrawn, so that the next cause meets a level without it. A cause takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.archive import RunArchive
from clusterbench.base.connections import HISTORY, Connection, local_connections
from clusterbench.base.errors import LabError
from clusterbench.base.paths import lab_dir, project_root
from clusterbench.base.postgres_session import OWN
from clusterbench.base.run_ids import WEEKLY, run_id_from, run_started_by
from clusterbench.cli.common import store
from clusterbench.cli.pools import pool_names
from clusterbench.engines import DRIVER
from clusterbench.history import database, read
from clusterbench.hosts import speed
from clusterbench.report.week.gather import gather_week
from clusterbench.report.week.week import SeriesVerdict, Week
from clusterbench.report.week.why import why
from clusterbench.run.remarks import keep, remark_of_run
from clusterbench.run.weekly import find
from clusterbench.spec.catalog import project_catalog
from clusterbench_lab.cgroups import PERIOD_US, Limits, disk_of
from clusterbench_lab.chaos.faults import part, processes
from clusterbench_lab.lab import Lab

EXPERIMENT, SCALE, PLATFORM = "smoke", "smoke", "lab_db1"
DATABASE_HOST = "database host"
"""The lab's db1, as ``chaos/faults.py`` calls it."""
EQUAL_RUNS = 11
"""One more than a verdict needs, as one may turn out not to be valid."""
CONFIRM_HOURS = 0.13
"""For six runs of all cells, also where a cause makes them much slower."""
LEAVE, MORE_LEAVE = "engine_settings]\n", "engine_settings, measure_disks]\n"
WATCHED = """\
watch_sessions: true
host_speed: {every_days: 0, seconds: 1, disk_mib: 32, slower_percent: 80}
"""
"""What waits and slow hosts are known by; equal runs have it, too."""
CPUS, DISK_BYTES_PER_S, NETWORK_RATE = 0.2, 2_000_000, "4mbit"
HELD_S, FREE_S, LOOK_S = 0.3, 0.1, 0.02
HOLDER = "nightly_report"


@dataclass(frozen=True)
class Place:
    """What a cause is planted in."""

    lab: Lab
    database: Connection

    @contextmanager
    def session(self, name: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        at = self.database
        with psycopg.connect(
            host=at.host,
            port=at.port,
            user=at.login,
            password=at.password,
            dbname=at.schema,
            application_name=name,
            autocommit=True,
        ) as session:
            yield session


@dataclass(frozen=True)
class Cause:
    """``plant``: there on entry, gone on exit. ``named``: what the first line of "why" must match."""

    what: str
    plant: Callable[[Place], AbstractContextManager[None]]
    named: str
    experiment: str = EXPERIMENT
    """In whose runs it shows."""


# The causes.


@contextmanager
def index_made_anew(place: Place) -> Iterator[None]:
    """As one that takes less room. Without any, trials fail, and the report says of what; a scan would take minutes."""
    with place.session(OWN) as session:
        of_tables = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'datajson\\_%'"
        indexes = [(str(name), str(made_by)) for name, made_by in session.execute(of_tables)]
    if not indexes:
        raise LabError("there is no index of key_value's tables")
    try:
        _make_anew(place, [(name, made_by.replace("USING btree", "USING brin")) for name, made_by in indexes])
        yield
    finally:
        _make_anew(place, indexes)


def _make_anew(place: Place, indexes: Sequence[tuple[str, str]]) -> None:
    """Each by its name and the statement that makes it."""
    with place.session(OWN) as session, session.transaction():
        for name, made_by in indexes:
            session.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))
            session.execute(made_by.encode())


@contextmanager
def table_locked(place: Place) -> Iterator[None]:
    """By a session of somebody else's, most of the time while drivers are at work."""
    ended = threading.Event()
    holder = threading.Thread(target=_hold, args=(place, ended), daemon=True)
    holder.start()
    try:
        yield
    finally:
        ended.set()
        holder.join(timeout=30)
        if holder.is_alive():
            raise LabError("the session that holds the lock does not end")


def _hold(place: Place, ended: threading.Event) -> None:
    """A server that is started anew ends the session."""
    while not ended.is_set():
        with suppress(psycopg.Error), place.session(OWN) as session:
            while not ended.is_set():
                _hold_once(session)
        ended.wait(0.2)


def _hold_once(session: psycopg.Connection[tuple[Any, ...]]) -> None:
    """It looks under clusterbench's own name: with sessions of others clusterbench stops no server."""
    at_work = "SELECT 1 FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid()"
    if not session.execute(at_work, [DRIVER]).fetchall():
        time.sleep(LOOK_S)
        return
    session.execute(sql.SQL("SET application_name = {}").format(HOLDER))
    with session.transaction():
        for (table,) in session.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'datajson\\_%'"):
            lock = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE")
            session.execute(lock.format(sql.Identifier(str(table))))
        time.sleep(HELD_S)
    session.execute(sql.SQL("SET application_name = {}").format(OWN))
    time.sleep(FREE_S)


@contextmanager
def statistics_stale(place: Place) -> Iterator[None]:
    """As if the tables of TPC-H had been looked at last when they were nearly empty."""
    with place.session(OWN) as session:
        of_tables = (
            "SELECT pg_class.oid, CAST(CAST(pg_class.oid AS regclass) AS text) FROM pg_class "
            "JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname LIKE 'tpch\\_%' AND relkind = 'r'"
        )
        tables = {int(oid): str(name) for oid, name in session.execute(of_tables)}
        if not tables:
            raise LabError("there is no table of TPC-H")
        try:
            with session.transaction():
                session.execute("UPDATE pg_class SET reltuples = 1, relpages = 1 WHERE oid = ANY(%s)", [list(tables)])
                session.execute("DELETE FROM pg_statistic WHERE starelid = ANY(%s)", [list(tables)])
            yield
        finally:
            with place.session(OWN) as again:  # the first may be gone with a server that was started anew
                again.execute(f"ANALYZE {', '.join(tables.values())}".encode())


def cpu_limited(place: Place) -> AbstractContextManager[None]:
    quota = {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(round(CPUS * PERIOD_US))}
    return _limited(place, "cpu", quota)


def disk_throttled(place: Place) -> AbstractContextManager[None]:
    rate = f"{disk_of(place.lab.layout.lab_dir)} {DISK_BYTES_PER_S}"
    return _limited(place, "blkio", {"blkio.throttle.read_bps_device": rate})


@contextmanager
def _limited(place: Place, controller: str, limits: Mapping[str, str]) -> Iterator[None]:
    """All processes of the host in a group of their own, and what they start meanwhile."""
    known = Limits(place.lab.layout.lab_dir)
    if known.is_v2:
        raise LabError("this cause is planted in version 1 of cgroups only")
    tree = known.root.parent / controller
    group = tree / f"{known.lab.name}-planted"
    group.mkdir()
    try:
        for file, value in limits.items():
            (group / file).write_text(value)
        _move([one.pid for one in processes(place.lab, part(DATABASE_HOST))], group)
        yield
    finally:
        _emptied(group, tree)


def _move(pids: Sequence[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _emptied(group: Path, into: Path) -> None:
    """Its processes may start others while they are moved."""
    for _ in range(50):
        _move([int(pid) for pid in (group / "cgroup.procs").read_text().split()], into)
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    raise LabError(f"{group} is still there, with the limit: move its processes to {into} and remove it")


@contextmanager
def network_slow(place: Place) -> Iterator[None]:
    """What the host sends and receives has one rate; all else on the loopback is not touched.

    Packets of a connection that begins on the host do not have its address there. Of such there is one: the speed of
    networks is measured from it to the client, whose port for that no other host of the platform sends to.
    """
    here, client = (f"{place.lab.layout.address(host)}/32" for host in ("db1", "client"))
    _tc("qdisc add dev lo root handle 1: htb")
    try:
        _tc(f"class add dev lo parent 1: classid 1:1 htb rate {NETWORK_RATE} ceil {NETWORK_RATE} burst 4k cburst 4k")
        for way in ("src", "dst"):
            of_pair = f"match ip {way} {client} match ip {way[0]}port {speed.PORT} 0xffff"
            for what in (f"match ip {way} {here}", of_pair):
                _tc(f"filter add dev lo parent 1: protocol ip pref 1 u32 {what} flowid 1:1")
        yield
    finally:
        _tc("qdisc del dev lo root")


def _tc(words: str) -> None:
    done = subprocess.run(["tc", *words.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"tc {words}: {done.stderr.strip()}")


CAUSES: Mapping[str, Cause] = {
    "index": Cause("the index made anew as BRIN", index_made_anew, r"plan of .* changed: Index .* -> Bitmap"),
    "lock": Cause("a lock held by another session", table_locked, r"waited for locks"),
    "statistics": Cause(
        "another plan, by statistics of tables that were nearly empty", statistics_stale, r"plan of .* changed", "tpch"
    ),
    "cpu": Cause(f"a CPU limit of {CPUS} on the host", cpu_limited, r"cpu limit .*coordinator.*: none"),
    "disk": Cause("the host's disk throttled to 2 MB/s", disk_throttled, r"disk read limit|slow in .*disk"),
    "network": Cause(f"a network of {NETWORK_RATE} to the host", network_slow, r"slow in .*coordinator.*network"),
}


# A week.


@dataclass(frozen=True)
class Found:
    """``told``: results that got worse; ``first``: the first lines of "why", and of how many results each is."""

    cause: Cause
    week: Week | None
    problem: str = ""

    @property
    def told(self) -> Sequence[SeriesVerdict]:
        return self.week.of("regression") if self.week else ()

    @property
    def first(self) -> Mapping[str, int]:
        lines = [why(one)[0] for one in self.told]
        return {line: lines.count(line) for line in dict.fromkeys(lines)}

    @property
    def named(self) -> int:
        return sum(n for line, n in self.first.items() if re.search(self.cause.named, line, re.IGNORECASE))

    @property
    def confirmed(self) -> int:
        return sum(bool(one.confirmation and one.confirmation.word == "confirmed") for one in self.told)

    @property
    def row(self) -> str:
        lines = " / ".join(f"{line} ({n})" for line, n in self.first.items()) or self.problem or "nothing was told"
        counts = f"{len(self.told)} | {self.confirmed}"
        return f"| {self.cause.what} | {counts} | {lines} | {self.named} of {len(self.told)} |"


def main(names: Sequence[str], *, twice: bool) -> int:
    lab, connections = Lab(lab_dir()), local_connections(lab_dir())
    place = Place(lab, connections(project_catalog().platform(PLATFORM).database or ""))
    api = AirflowApi.from_environment(lab_dir())
    api.ensure_pools(pool_names(project_catalog()))
    found = []
    with _watched(project_root() / "include" / "platforms" / f"{PLATFORM}.yaml"):
        for name in names:
            experiment = CAUSES[name].experiment
            for _ in range(EQUAL_RUNS - _equal_runs(experiment)):
                follow(api, experiment, api.trigger(experiment, {"scale": SCALE}), sys.stderr)
            found.append(_planted(api, place, CAUSES[name], twice=twice))
            print("\n" + found[-1].row + "\n", flush=True)
    print("| cause | told as worse | confirmed | first line of why (results) | names it |\n|---|---|---|---|---|")
    print("\n".join(one.row for one in found))
    return 0 if all(one.told and one.named == len(one.told) for one in found) else 1


def _planted(api: AirflowApi, place: Place, cause: Cause, *, twice: bool) -> Found:
    """A cause that could not be taken away ends all: what came after it would be measured with it.

    ``twice``: in a run and in the week's own instead of measuring again, which takes longer.
    """
    started: list[tuple[str, str]] = []
    experiment = cause.experiment
    chosen = {"scale": SCALE, "experiments": [experiment], "confirm_hours": 0 if twice else CONFIRM_HOURS}
    try:
        with cause.plant(place):
            for dag_id, asked in ((experiment, {"scale": SCALE}), (WEEKLY, chosen))[0 if twice else 1 :]:
                started.append((dag_id, api.trigger(dag_id, asked)))
                follow(api, *started[-1], sys.stderr)
    finally:
        for dag_id, dag_run_id in started:
            _withdraw(run_started_by(dag_run_id) if dag_id == WEEKLY else dag_run_id, cause)
    dag_run_id = started[-1][1]
    asked_at = datetime.fromisoformat(api.dag_run(WEEKLY, dag_run_id)["run_after"])
    archive = RunArchive(store(), WEEKLY, run_id_from(asked_at, dag_run_id))
    if archive.get_json("changes.json") is None:
        return Found(cause, None, f"no verdicts: {archive.url}")
    return Found(cause, gather_week(None, project_catalog(), archive))


def _withdraw(dag_run_id: str, cause: Cause) -> None:
    """The planted run; also one that was not waited for."""
    run = find(store(), cause.experiment, dag_run_id)
    if run is None:
        print(f"no run of {cause.experiment} was found to withdraw: look for one that has this cause", file=sys.stderr)
        return
    said = remark_of_run(run, "withdrawn", f"planted: {cause.what}", "planted_causes")
    keep(local_connections(lab_dir()), said)


def _equal_runs(experiment: str) -> int:
    """That count, newest first as far as they are needed."""
    with database.opened(local_connections(lab_dir())(HISTORY)) as db:
        runs = read.runs(db, experiment, SCALE, limit=1000, before=datetime.now(UTC))
    return sum(one.is_valid and not one.withdrawn for one in runs)


@contextmanager
def _watched(file: Path) -> Iterator[None]:
    """The platform's file with what evidence needs; as it was afterwards."""
    before = file.read_text(encoding="utf-8")
    if LEAVE not in before:
        raise LabError(f"{file}: not as it is expected; is it still as another measurement left it?")
    file.write_text(before.replace(LEAVE, MORE_LEAVE, 1) + WATCHED, encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(before, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("causes", nargs="*", choices=[[], *CAUSES], metavar="cause", help=", ".join(CAUSES))
    parser.add_argument("--twice", action="store_true", help="in two runs, none measured again: it is shorter")
    if os.geteuid() != 0:
        sys.exit("planted_causes: limits of hosts and a slow network take root")
    asked_for = parser.parse_args()
    sys.exit(main(asked_for.causes or list(CAUSES), twice=asked_for.twice))
