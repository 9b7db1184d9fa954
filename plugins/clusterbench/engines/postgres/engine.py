"""PostgreSQL as an engine: what ``Engine`` and ``Database`` ask for, and which module of this folder does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from clusterbench.base.datasets import Storage
from clusterbench.base.feature import Feature
from clusterbench.base.plans import Prepared
from clusterbench.base.sql import Dialect
from clusterbench.base.statement_work import Heavy, Totals
from clusterbench.engines import BulkLoad, Endpoint, Residency, Watch
from clusterbench.engines.capacity import Capacity
from clusterbench.engines.flush import Flushed
from clusterbench.engines.postgres import (
    caches,
    capacity,
    driver_role,
    extensions,
    flush,
    loading,
    pooler,
    processes,
    recovery,
    sessions,
    settings,
    space,
    statement_totals,
    tables,
    work,
)
from clusterbench.engines.postgres.server import NO_SETTINGS, Server
from clusterbench.engines.postgres.unavailable import without_hosts
from clusterbench.engines.postgres.wal_place import wal_place
from clusterbench.spec.platform import Platform


class Postgres(Server):
    """One PostgreSQL server, reached by its own protocol and, for its files and processes, over SSH."""

    title = "PostgreSQL"
    is_left_running = True
    dialect: Dialect = "postgres"
    slice_rows_max = 1_000_000
    segment_of_row = "0"

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        return (
            without_hosts(platform)
            | pooler.unavailable(facts)
            | extensions.unavailable(platform, facts)
            | {
                "orca": "PostgreSQL has no ORCA optimizer; only Greenplum and its family have",
                "direct_dispatch": "PostgreSQL has no segments to dispatch to",
                "statement_mem": "PostgreSQL has no statement_mem; it is Greenplum's memory for one statement",
                "append_optimised": "PostgreSQL has no append-optimised tables; only Greenplum and its family have",
                "pax": "PostgreSQL has no PAX tables; only Cloudberry has",
                "compression": "PostgreSQL has no compresstype and compresslevel; only Greenplum and its family have",
            }
        )

    @classmethod
    def capacity_on(cls, platform: Platform, facts: Mapping[str, Any]) -> Capacity:
        return capacity.capacity(platform, facts)

    # Set-up, facts and settings.

    def set_up(self) -> None:
        self.reset_session()
        driver_role.own_tables(self)
        self._configure(self.platform.settings)

    def tear_down(self) -> None:
        self.stop_pooler()
        self.reset_session()
        extensions.drop_ours(self)
        if not self.platform.setup.keep:
            self._configure({})

    def configure(self, settings: Mapping[str, str]) -> None:
        self._configure({**self.platform.settings, **settings})

    def _configure(self, wanted: Mapping[str, str]) -> None:
        """Have exactly these in our block of every instance's configuration file, and in force, where that is allowed.

        Where it is not, the file is not touched either to take out what an earlier run has left.
        """
        if "engine_settings" not in self.platform.may:
            return
        if not (written := settings.write(self, wanted, self.config_file())):
            return
        if settings.need_restart(self, written):
            self.stop()  # or it is said why not
            self.start()
        else:
            settings.reload(self, wanted)

    def config_file(self) -> str:
        """Of the only server; empty where there are several, of which each has its own beside its data."""
        return self.fact("config_file") if self.platform.database_hosts else ""

    def facts(self) -> dict[str, Any]:
        server = self.query(
            "SELECT version() AS version, current_setting('server_version_num')::int AS version_number, "
            "current_setting('data_directory') AS data_directory, current_setting('config_file') AS config_file, "
            "(SELECT oid FROM pg_database WHERE datname = current_database())::bigint AS database_oid"
        )[0]
        self.facts_of_set_up = {"engine": "postgres", **server, "settings": settings.changed(self)}
        self.facts_of_set_up["lacking_extensions"] = extensions.lacking(self)
        if reads := settings.asynchronous_io(self):
            self.facts_of_set_up["asynchronous_io"] = reads
        if self.platform.database_hosts:
            program = processes.program_directory(self, server["data_directory"])
            self.facts_of_set_up["program_directory"] = program
            self.facts_of_set_up["units"] = processes.units(self)
            self.facts_of_set_up["losing_memory"] = processes.losing_memory(self)
            self.facts_of_set_up |= processes.limits(self)
            self.facts_of_set_up |= wal_place(self)
            self.facts_of_set_up["pooler_version"] = pooler.version(self)
        return self.facts_of_set_up

    def driver_facts(self) -> dict[str, Any]:
        found = driver_role.facts(self) | {"driver_session": sessions.as_seen_by_driver(self)}
        self.facts_of_set_up |= found
        return found

    def features(self, facts: Mapping[str, Any]) -> list[Feature]:
        reads = facts.get("asynchronous_io")
        said = ", ".join(f"{name} {value}" for name, value in (reads or {}).items())
        return [Feature("reads", said or "each session makes its own, one after the other")] if facts else []

    def declared_settings(self) -> Mapping[str, str]:
        return self.platform.settings

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        return settings.in_force(self, names)

    def free_bytes(self) -> int | None:
        return space.free_bytes(self)

    def stored_bytes(self, table: str) -> int:
        return space.stored_bytes(self, table)

    def parallelism(self) -> int:
        known = self.platform.database_hosts
        return int(self.on_host("nproc", "coreutils must be there")) if known else capacity.CONNECTIONS

    def segments(self) -> int:
        return 1

    def counters(self) -> dict[str, int]:
        return work.totals(self)

    def statement_totals(self) -> dict[str, Totals]:
        return statement_totals.totals(self)

    def statement_texts(self, numbers: Sequence[str]) -> dict[str, str]:
        return statement_totals.texts(self, numbers)

    def heaviest_statements(self, statements_max: int) -> list[Heavy]:
        return statement_totals.heaviest(self, statements_max)

    # Tables and their rows.

    def create_table(self, table: str, columns: str, storage: Storage, comment: str = "") -> None:
        tables.create(self, table, self.table_definition(table, columns, storage), comment)
        driver_role.give(self, table)

    def table_definition(self, table: str, columns: str, storage: Storage) -> str:
        """The statements of ``create_table``."""
        return tables.definition(table, columns, storage)

    def leaves(self, relations: Sequence[str]) -> list[str]:
        return tables.leaves(self, relations)

    def indexes(self, relation: str) -> list[str]:
        return tables.indexes(self, relation)

    def skew(self, table: str) -> float:  # noqa: ARG002  one server has all rows
        return 0.0

    def series(self, first: int, last: int, step: int = 1) -> str:
        return f"generate_series({first}, {last}, {step})"

    def load_slices(
        self, table: str, seed: int, slices: Sequence[tuple[int, int]], insert: Callable[[int, int], str]
    ) -> Iterator[int]:
        yield from loading.load_slices(self, table, seed, slices, insert, at_once=self.parallelism())

    def forget_slices(self, table: str) -> None:
        loading.forget_slices(self, table)

    def bulk_load(self, table: str, host: str, files: Sequence[str], *, name: str = "ext") -> BulkLoad:  # noqa: ARG002  they come by the session
        return loading.bulk_load(table, files)

    def settle(self, *tables: str, columns: Sequence[str] = ()) -> None:
        loading.settle(self, tables, columns, at_once=self.parallelism())

    # Drivers' sessions.

    def set_session(self, settings: Mapping[str, str]) -> None:
        sessions.set_defaults(self, settings)

    def reset_session(self) -> None:
        sessions.reset_defaults(self)

    def endpoint(self, *, pooled: bool, settings: Mapping[str, str] = NO_SETTINGS) -> Endpoint:
        return sessions.endpoint(self, pooled=pooled, settings=settings)

    def others(self) -> Sequence[str]:
        return sessions.of_others(self)

    def end_driver(self) -> None:
        sessions.end_driver(self)

    def explain(self, queries: Mapping[str, str | Prepared], *, before: str = "") -> dict[str, str]:
        return sessions.explain(self, queries, before)

    def watch(self) -> Watch:
        return sessions.watch(self)

    def segment_totals(self) -> dict[str, dict[str, int]]:
        return {}

    def start_pooler(self, mode: str, size: int) -> None:
        pooler.start(self, mode, size)

    def stop_pooler(self) -> None:
        pooler.stop(self)

    # Processes.

    def start(self) -> None:
        processes.start(self)

    def stop(self) -> None:
        processes.stop(self)

    def state(self) -> list[dict[str, Any]]:
        return processes.look(self, self.known_instances())

    def recover(self) -> list[str]:
        return recovery.recover(self)

    def log_excerpt(self, faults: Sequence[str]) -> str:
        return processes.log_excerpt(self, faults)

    # Caches.

    def flush_caches(self) -> Sequence[Flushed]:
        return flush.flush(self)

    def warm(self, relations: Sequence[str]) -> None:
        caches.warm(self, relations)

    def empty_file_system_cache(self, relations: Sequence[str]) -> None:  # noqa: ARG002  all of the database's files
        caches.empty_file_system_cache(self)

    def residency(self, relations: Sequence[str]) -> Residency | None:
        return caches.residency(self, relations)


ENGINE = Postgres
