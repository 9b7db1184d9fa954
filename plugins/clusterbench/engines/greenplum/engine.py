"""Greenplum and its family: a coordinator and segments. Everything that is particular to them, and nothing else.

Written for generation 6 (PostgreSQL 9.4) and 7 (PostgreSQL 12): no ON CONFLICT, no procedures, no newer catalogs.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

from psycopg import sql

from clusterbench.base.datasets import Storage
from clusterbench.base.errors import EngineError
from clusterbench.base.sql import Dialect, identifier, statement
from clusterbench.engines import BulkLoad, instances
from clusterbench.engines.instances import COORDINATOR, Instance
from clusterbench.engines.postgres.engine import SERVER_TIMEOUT_S, Postgres, public_value, quoted, without_hosts
from clusterbench.spec.platform import Platform

log = logging.getLogger(__name__)

UTILITIES = ("gpstop", "gpstart", "gprecoverseg", "gpstate")
SLICE_ROWS_MAX = 8_000_000
"""All segments share one statement's rows: a million each, where there are eight."""
ALL_UP_WITHIN_S = 60
ON_ALL_SEGMENTS = "SELECT count(*) AS segments FROM gp_dist_random('gp_id')"
LOGS_S = 60
PROBE_S = 180
"""A probe of every segment, which waits for one that is silent as the cluster's own settings say (five times 20 s)."""
INTERCONNECT_WARNING = '^[0-9]{4}-.*,"WARNING","[0-9A-Z]*","interconnect may (have )?encountered a network error'
"""A datagram was sent again a hundred times in a row (``gp_interconnect_min_retries_before_timeout``) without an
acknowledgement; told once a statement and process (checkNetworkTimeout of Greenplum's ic_udpifc.c)."""
RECOVERY_TIMEOUT_S = 3600
"""A segment of some terabytes may have to be copied."""
PRODUCT = re.compile(r"\((?P<name>[A-Z][\w ]*? (?:Database|DB)) (?P<version>\d\S*)")


GPFDIST_START = """\
PATH=$PATH:{path}
command -v gpfdist >/dev/null || {{ echo "gpfdist is not installed on $(uname -n): it is not in $PATH" >&2; exit 1; }}
library=$(dirname "$(command -v gpfdist)")/../lib
for n in $(seq {files}); do  # not children of this shell, which waits for its children
  (LD_LIBRARY_PATH="${{LD_LIBRARY_PATH:-}}:$library" gpfdist -s -d files -p $(({first} + n - 1)) >"server.$n" 2>&1 &
   echo $! >>servers.txt)
done
for n in $(seq {files}); do
  port=$(({first} + n - 1)) pid=$(sed -n "${{n}}p" servers.txt)
  for _ in $(seq 100); do (exec 3<>"/dev/tcp/localhost/$port") 2>/dev/null && break; sleep 0.05; done
  kill -0 "$pid" 2>/dev/null ||
    {{ echo "gpfdist could not start on port $port, see gpfdist_port: $(tail -n 2 "server.$n")" >&2; exit 1; }}
done
"""

GPFDIST_STOP = "kill $(cat servers.txt 2>/dev/null) 2>/dev/null || true"


class Greenplum(Postgres):
    """One cluster, asked through its coordinator; its hosts are known over SSH, or not at all."""

    title = "Greenplum"
    dialect: Dialect = "greenplum"
    slice_rows_max = SLICE_ROWS_MAX

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        said = str(facts.get("orca", ""))
        without_orca = {"orca": f"this server has no ORCA optimizer; it says: {said}"} if "without ORCA" in said else {}
        work_mem = {"work_mem": "Greenplum's memory for one statement is statement_mem; see that factor"}
        serializable = {"serializable": "Greenplum has no serializable isolation: it gives repeatable read for it"}
        six = facts.get("generation") == 6
        autovacuum = {"autovacuum": "Greenplum 6 has autovacuum for template0 only"} if six else {}
        return without_hosts(platform) | without_orca | work_mem | serializable | autovacuum

    def facts(self) -> dict[str, Any]:
        """First what the coordinator alone knows; then what is down is brought back, and the segments are asked."""
        server = self.query(statement("greenplum", "facts"))[0]
        product, product_version = product_of(server["version"])
        placed = self._place(self.query(statement("greenplum", "instances")))
        self._facts = {
            "engine": "greenplum",
            "product": product,
            "product_version": product_version,
            "generation": 6 if server["version_number"] < 120000 else 7,
            **server,
            "instances": [instance.as_json() for instance in placed],
            "segments": sum(i.is_primary_segment for i in placed),
            "mirrors": sum(i.is_mirror for i in placed),
        }
        self._check_segments_per_host(placed)
        if self.platform.database_hosts:
            self._facts["program_directory"] = self._program_directory(server["data_directory"])
            self._facts["utilities"] = self._find_utilities()
        self._facts["recovered"] = "; ".join(self.recover())
        self._facts["settings"] = self._changed_settings()
        differing = self.query(statement("greenplum", "changed_settings"))
        self._facts["settings_that_differ"] = settings_that_differ(differing)
        return self._facts

    def _place(self, rows: Sequence[Mapping[str, Any]]) -> list[Instance]:
        placed, problems = instances.place(rows, self._names_of_hosts())
        if problems:
            named = ", ".join(self.platform.database_hosts)
            raise EngineError(
                f"{self._where} is not the cluster that it reaches:\n  "
                + "\n  ".join(problems)
                + f"\nIts file names {named}; add the missing hosts with the role 'segment', under the names above"
            )
        return placed

    def _names_of_hosts(self) -> dict[str, list[str]]:
        """Host of the platform -> what the cluster may call it: its name here, its address, what it calls itself."""
        answers = {}
        if self.platform.database_hosts:
            answers = self._on_hosts("uname -n; hostname -f 2>/dev/null || true; hostname -I 2>/dev/null || true", "")
        return {host: [host, self.fleet.addresses[host].host, *said.split()] for host, said in answers.items()}

    def _check_segments_per_host(self, placed: Sequence[Instance]) -> None:
        if not self.platform.database_hosts:
            return  # nobody can say what is where
        primaries = [i for i in placed if i.is_primary_segment]
        mirrors = [i for i in placed if i.content != COORDINATOR and i.is_mirror]
        wrong = [
            *_wrong_counts("segments", self.platform.segments_per_host, primaries, "segments_per_host"),
            *_wrong_counts("mirrors", self.platform.mirrors_per_host, mirrors, "mirrors_per_host"),
        ]
        if wrong:
            raise EngineError(f"{self._where}: " + "; ".join(wrong))

    def instances(self) -> list[Instance]:
        if "instances" not in self._facts:
            self.facts()
        return [Instance(**row) for row in self._facts["instances"]]

    def _config_file(self) -> str:
        return ""

    def _known_instances(self) -> list[Instance]:
        """As the coordinator sees them now; as it saw them at set-up while it is down."""
        hosts = {(i.content, i.preferred_role): i.host for i in self.instances()}
        try:
            rows = self.ask(statement("greenplum", "instances"))
        except EngineError:
            return self.instances()
        placed, _ = instances.place(rows, {})
        return [replace(i, host=hosts.get((i.content, i.preferred_role))) for i in placed]

    # Data, on all segments at once.

    def parallelism(self) -> int:
        """Two statements at once: every one of them runs on all segments already."""
        return 2

    def table_definition(self, table: str, columns: str, storage: Storage) -> str:
        """Partitions in the syntax of generation 6, which 7 reads, too."""
        options = []
        if storage.layout != "heap":
            options = ["appendonly=true", f"orientation={storage.layout.removeprefix('append_')}"]
            if storage.compression != "none":
                options += [f"compresstype={storage.compression}", f"compresslevel={storage.level}"]
        kept = f"WITH ({', '.join(options)}) " if options else ""
        by = storage.distributed_by
        spread = f"DISTRIBUTED BY ({_quoted(by)})" if by else "DISTRIBUTED REPLICATED"
        return f"CREATE TABLE {_quoted(table)} ({columns}) {kept}{spread}" + _partitions(storage)

    def series(self, first: int, last: int, step: int = 1) -> str:
        return statement("greenplum", "series", first=first, last=last, step=step, segments=self.segments())

    def bulk_load(self, table: str, host: str, files: Sequence[str]) -> BulkLoad:
        """A gpfdist for each file, read by all segments at once, and one INSERT that asks them all.

        A readable external table may name no more servers than there are segments, so few segments need several.
        """
        address, first = self.fleet.addresses[host].host, self.platform.gpfdist_port
        places = [f"gpfdist://{address}:{first + number}/{file}" for number, file in enumerate(files)]
        groups = [places[n : n + self.segments()] for n in range(0, len(places), self.segments())]
        externals = [f"{table}_ext{number}" for number in range(len(groups))]
        create, drop = (
            ";\n".join(
                statement("greenplum", name, external=identifier(ext), table=identifier(table), places=_texts(group))
                for ext, group in zip(externals, groups, strict=True)
            )
            for name in ("create_external", "drop_external")
        )
        rows = " UNION ALL ".join(statement("tables", "rows", table=identifier(name)) for name in externals)
        return BulkLoad(
            streams=[[f"INSERT INTO {_quoted(table)} {rows}"]],
            before=GPFDIST_START.format(path=quote(self._program_path()), first=first, files=len(files)),
            after=GPFDIST_STOP,
            create=f"{drop};\n{create}",
            drop=drop,
        )

    def _program_path(self) -> str:
        """Where gpfdist may be besides the login's own path: as on the database's hosts, or as its package puts it."""
        own = [str(self._facts["program_directory"])] if "program_directory" in self._facts else []
        return ":".join([*own, "/usr/local/greenplum-db/bin", "/usr/local/greenplum-loaders/bin"])

    segment_of_row = "gp_segment_id"

    def skew(self, table: str) -> float:
        rows = self.query(statement("greenplum", "rows_by_segment", table=identifier(table)))
        return instances.skew([int(row["row_count"]) for row in rows] or [0], self.segments())

    def segments(self) -> int:
        return sum(i.is_primary_segment for i in self.instances())

    def counters(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.ask(statement("greenplum", "counters"))[0].items()}

    def mark_logs(self, name: str) -> None:
        if self.platform.database_hosts:
            self._on_logs(instances.MARK_LOGS, name)

    def logged_since(self, name: str) -> dict[str, int]:
        """The marks are on the hosts, each of which counts in its own logs, and there only in what came since."""
        if not self.platform.database_hosts:
            return {}
        said = self._on_logs(instances.COUNT_LOGGED, name)
        return {"interconnect_warnings": sum(int(line) for lines in said.values() for line in lines.split())}

    def _on_logs(self, body: str, name: str) -> dict[str, str]:
        scripts = {}
        for host, here in instances.by_host(self.instances()).items():
            directory = quote(f"{self.fleet.work_dir(host)}/{name}")
            filled = body.format(directory=directory, pattern=quote(INTERCONNECT_WARNING))
            scripts[host] = instances.script(filled, self._fact("program_directory"), here)
        return self._on_each(scripts, "the logs must be readable", timeout_s=LOGS_S)

    # Processes: the cluster's own utilities where it has them, pg_ctl on every instance where not.

    def stop(self) -> None:
        if "gpstop" in self._utilities() and self._answers("SELECT 1 AS up"):
            self._run_utility("gpstop -a -M fast")
        else:  # gpstop refuses where the coordinator is down already
            super().stop()

    def start(self) -> None:
        if "gpstart" in self._utilities() and not self._answers("SELECT 1 AS up"):
            self._run_utility("gpstart -a")
        else:  # also where only a segment is down: gpstart starts none beside a coordinator that runs
            super().start()
        self._wait_for_segments()

    def recover(self) -> list[str]:
        """What does not answer is ended first, so that its mirror takes over; then as for what was killed."""
        state = self._reached()
        silent = [row["name"] for row in state if row["problem"] == instances.SILENT]
        if silent:
            self._end(silent)
            state = self.state()
        if any(row["alive"] is False for row in state) and self._answers("SELECT 1 AS up"):
            self.ask("SELECT gp_request_fts_probe_scan() AS asked", PROBE_S)  # else it may not have noticed yet
            state = self.state()
        broken = [row["name"] for row in state if row["status"] == "d" or row["role"] != row["preferred_role"]]
        gone = [row["name"] for row in state if row["alive"] is False]
        if gone:  # a session's process may outlive its server for long, and gprecoverseg leaves it alone
            self._end(gone)
        if any(row["content"] == COORDINATOR and row["name"] in gone for row in state):
            self._end_left_sessions()
        dead = [name for name in gone if name not in broken]
        if dead:
            super().start()  # what has no mirror is never marked down; what runs is left alone
        how = self._recover_mirrored(broken) if broken else ""
        self._wait_for_segments()
        return [
            *(f"{name} did not answer and was ended" for name in silent),
            *(f"{name} was down and was started" for name in dead),
            *(f"{name} was brought back by {how}" for name in broken),
        ]

    def _end_left_sessions(self) -> None:
        """Of a coordinator that is gone: on segments some wait for it for an hour, and hold the locks of their rows.

        (``gp_interconnect_transmit_timeout``; seen after its postmaster was killed in the middle of updates.)
        """
        segments = [each for each in self.instances() if each.content != COORDINATOR]
        self._on_instances(instances.END_SESSIONS, segments, "end these processes by hand, then clear the trial")

    def _recover_mirrored(self, broken: Sequence[str]) -> str:
        """A primary that its mirror replaced has to be made its mirror, to catch up, and to take its role again.

        Returns by what it was done.
        """
        if "gprecoverseg" not in self._utilities():
            raise EngineError(
                f"{self._where}: not in its role: {', '.join(broken)}; there is no gprecoverseg "
                "here; bring it back by hand (gprecoverseg -a, then gprecoverseg -a -r)"
            )
        how = "gprecoverseg"
        if any(row["status"] == "d" for row in self.state()):
            how = self._copy_what_is_missing()
        if any(row["role"] != row["preferred_role"] for row in self.state()):
            how = self._rebalance() or how
        return how

    def _rebalance(self) -> str | None:
        """It makes the instance that gives its role back catch up, too: what could not be done then is said."""
        how = None
        try:
            self._run_utility("gprecoverseg -a -r", timeout_s=RECOVERY_TIMEOUT_S)
        except EngineError:
            if not any(row["status"] == "d" for row in self.state()):
                raise
            how = self._copy_what_is_missing()
        self._wait_until(lambda row: row["role"] == row["preferred_role"], "in its role")
        return how

    def _copy_what_is_missing(self) -> str:
        """Only that, where it can be done; else everything, as paper 004 had to."""
        how = "gprecoverseg"
        try:
            self._run_utility("gprecoverseg -a", timeout_s=RECOVERY_TIMEOUT_S)
        except EngineError as error:
            log.warning("gprecoverseg could not catch up, so everything is copied: %s", error)
            self._run_utility("gprecoverseg -a -F", timeout_s=RECOVERY_TIMEOUT_S)
            how = "gprecoverseg -F, a full copy, because it could not catch up"
        self._wait_until(lambda row: row["content"] == COORDINATOR or row["mode"] == "s", "in step with its mirror")
        return how

    def _wait_until(self, holds: Callable[[Mapping[str, Any]], bool], wanted: str) -> None:
        until = time.monotonic() + RECOVERY_TIMEOUT_S
        while left := [row["name"] for row in self.state() if not holds(row)]:
            if time.monotonic() > until:
                raise EngineError(
                    f"{self._where}: after {RECOVERY_TIMEOUT_S} s not {wanted}: {', '.join(left)}; gpstate -e says more"
                )
            time.sleep(2)

    def _wait_for_segments(self) -> None:
        until = time.monotonic() + ALL_UP_WITHIN_S
        while not self._answers(ON_ALL_SEGMENTS):
            if time.monotonic() > until:
                self.ask(ON_ALL_SEGMENTS)  # raises, in its own words
            time.sleep(0.5)

    def _utilities(self) -> list[str]:
        if "utilities" not in self._facts and self.platform.database_hosts:
            self.facts()
        return list(self._facts.get("utilities", []))

    def _find_utilities(self) -> list[str]:
        """Those that run: they may lack the Python that they need, or the right to connect without a password."""
        look = (
            'if "$program/psql" -h "${PGHOST:-localhost}" -w -d template1 -c "SELECT 1" >/dev/null 2>&1; then\n'
            f'for each in {" ".join(UTILITIES)}; do "$program/$each" --version >/dev/null 2>&1 && echo "$each"; done\n'
            "fi; true"
        )
        return self._on_host(self._with_environment(look), "a shell must be there").split()

    def _run_utility(self, command: str, *, timeout_s: int = SERVER_TIMEOUT_S) -> None:
        script = self._with_environment(f"{command} >&2 </dev/null")
        remedy = f"it must end within {timeout_s} s; its own log is in ~/gpAdminLogs"
        self._on_each({self.host: script}, remedy, timeout_s=timeout_s)

    def _with_environment(self, command: str) -> str:
        data, port = quote(self._fact("data_directory")), self.port
        export = f"export MASTER_DATA_DIRECTORY={data} COORDINATOR_DATA_DIRECTORY={data} PGPORT={port}\n"
        return instances.script(
            export + 'export PATH="$program:$PATH"\n' + command, self._fact("program_directory"), []
        )

    # Caches, of all segments.

    _content = "gp_execution_segment()"

    def _everywhere(self, relation: str) -> str:
        return f"gp_dist_random('{relation}')"

    def warm(self, relations: Sequence[str]) -> None:
        leaves = self.leaves(relations)
        appended = [relation for relation in leaves if self._is_append_optimised(relation)]
        for relation in appended:  # pg_prewarm does not know them, and the database does not cache them
            self.query(statement("greenplum", "read_all", table=identifier(relation)))
        super().warm([relation for relation in leaves if relation not in appended])

    def _is_append_optimised(self, relation: str) -> bool:
        found = self.query(statement("greenplum", "append_optimised", relation=quoted(relation)))
        return bool(found[0]["found"])


def product_of(version: str) -> tuple[str, str]:
    """Name and version from ``version()``: ``("Greenplum Database", "6.24.3")``. Forks put their own name there."""
    found = PRODUCT.search(version)
    return (found["name"], found["version"]) if found else ("unknown", "unknown")


def _wrong_counts(what: str, declared: int | None, found: Sequence[Instance], key: str) -> list[str]:
    if declared is None:
        return []
    counts = {host: len(here) for host, here in instances.by_host(found).items()}
    wrong = {host: count for host, count in counts.items() if count != declared}
    if not wrong and (counts or not declared):
        return []
    said = ", ".join(f"{count} on {host}" for host, count in sorted(wrong.items())) or "none"
    return [f"declared are {declared} {what} per host, found {said}; change {key!r} in its file, or the cluster"]


def _partitions(storage: Storage) -> str:
    if not storage.partitions:
        return ""
    parts = ",\n".join(
        f"  PARTITION {_quoted(part.name)} START ('{part.start}') INCLUSIVE END ('{part.end}') EXCLUSIVE"
        for part in storage.partitions
    )
    return f"\nPARTITION BY RANGE ({_quoted(storage.partitioned_by)}) (\n{parts}\n)"


def _texts(values: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(sql.Literal(value) for value in values)


def _quoted(name: str) -> str:
    return identifier(name).as_string(None)


def settings_that_differ(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Setting -> instance's content -> value, for changed settings that are not the same on every instance.

    Where an instance is left out, it has the default.
    """
    contents = {row["content"] for row in rows}
    values: dict[str, dict[str, str]] = {}
    for row in rows:
        values.setdefault(str(row["name"]), {})[str(row["content"])] = str(row["value"])
    return {
        name: {content: public_value(name, value) for content, value in found.items()}
        for name, found in values.items()
        if len(set(found.values())) > 1 or len(found) < len(contents)
    }


ENGINE = Greenplum
