"""Greenplum and its family as an engine: what differs from one PostgreSQL, and which module of this folder does it.

Written for generation 6 (PostgreSQL 9.4) and 7 (PostgreSQL 12): no ON CONFLICT, no procedures, no newer catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterbench.base.datasets import Storage
from clusterbench.base.errors import EngineError
from clusterbench.base.feature import Feature
from clusterbench.base.sql import Dialect, statement
from clusterbench.engines import BulkLoad, Watch, instances
from clusterbench.engines.capacity import Capacity
from clusterbench.engines.greenplum import (
    caches,
    capacity,
    cluster,
    family,
    loading,
    logs,
    processes,
    recovery,
    resources,
    skew,
    tables,
    utilities,
    watch,
)
from clusterbench.engines.instances import Instance
from clusterbench.engines.postgres import extensions, pooler, settings
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.engines.postgres.processes import limits, losing_memory, program_directory, units
from clusterbench.engines.postgres.unavailable import without_hosts
from clusterbench.engines.postgres.wal_place import wal_place
from clusterbench.spec.platform import Platform

SLICE_ROWS_MAX = 8_000_000
"""All segments share one statement's rows: a million each, where there are eight."""


class Greenplum(Postgres):
    """One cluster, asked through its coordinator; its hosts are known over SSH, or not at all."""

    title = "Greenplum"
    dialect: Dialect = "greenplum"
    slice_rows_max = SLICE_ROWS_MAX
    segment_of_row = "gp_segment_id"
    content_of_row = "gp_execution_segment()"

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        said = str(facts.get("orca", ""))
        without_orca = (
            {"orca": f"this server has no ORCA optimizer; its message: {said}"} if "without ORCA" in said else {}
        )
        work_mem = {"work_mem": "Greenplum's memory for one statement is statement_mem; see that factor"}
        serializable = {"serializable": "Greenplum has no serializable isolation: it gives repeatable read for it"}
        six = facts.get("generation") == 6
        autovacuum = {"autovacuum": "Greenplum 6 has autovacuum for template0 only"} if six else {}
        storage = tables.unavailable(facts)
        lacks = without_orca | work_mem | serializable | autovacuum | storage
        return without_hosts(platform) | pooler.unavailable(facts) | extensions.unavailable(platform, facts) | lacks

    @classmethod
    def capacity_on(cls, platform: Platform, facts: Mapping[str, Any]) -> Capacity:
        return capacity.capacity(platform, facts)

    # Facts.

    @property
    def exposed(self) -> Sequence[str]:
        if not self.platform.hosts_with("etl"):
            return ()
        return ("gpfdist gives the load files to everybody who reaches the ETL host, while a load runs",)

    def facts(self) -> dict[str, Any]:
        """First what the coordinator alone knows; then what is down is restarted, and the segments are asked."""
        server = self.query(statement("greenplum", "facts"))[0]
        product, product_version = family.product_of(server["version"])
        rows = self.query(statement("greenplum", "instances"))
        placed = cluster.place(self, rows, cluster.names_of_hosts(self))
        self.facts_of_set_up = {
            "engine": "greenplum",
            "product": product,
            "product_version": product_version,
            "generation": family.generation_of(server["version_number"]),
            **server,
            "instances": [instance.as_json() for instance in placed],
            "segments": sum(i.is_primary_segment for i in placed),
            "mirrors": sum(i.is_mirror for i in placed),
        }
        cluster.check_counts(self.platform, placed)
        found = self.facts_of_set_up
        found["lacking_extensions"] = extensions.lacking(self)
        if self.platform.database_hosts:
            found["program_directory"] = program_directory(self, server["data_directory"])
            found["utilities"] = utilities.find(self)
            found["units"] = units(self)
            found["losing_memory"] = losing_memory(self)
            found |= limits(self)
            found |= wal_place(self)
            found["pooler_version"] = pooler.version(self)
        found["recovered"] = "; ".join(self.recover())
        found["settings"] = settings.changed(self)
        found["settings_that_differ"] = cluster.settings_that_differ(
            self.query(statement("greenplum", "changed_settings"))
        )
        return found

    def driver_facts(self) -> dict[str, Any]:
        found = super().driver_facts() | resources.of_driver(self)
        self.facts_of_set_up |= found
        return found

    def features(self, facts: Mapping[str, Any]) -> list[Feature]:
        limits = facts.get("driver_resources")
        return [*family.features(facts), *([resources.feature(limits)] if limits else [])]

    def instances(self) -> list[Instance]:
        if "instances" not in self.facts_of_set_up:
            self.facts()
        return [Instance(**row) for row in self.facts_of_set_up["instances"]]

    def known_instances(self) -> list[Instance]:
        """As the coordinator sees them now; as it saw them at set-up while it is down."""
        hosts = {(i.content, i.preferred_role): i.host for i in self.instances()}
        try:
            rows = self.ask(statement("greenplum", "instances"))
        except EngineError:
            return self.instances()
        placed, _ = instances.place(rows, {})
        return [replace(i, host=hosts.get((i.content, i.preferred_role))) for i in placed]

    def config_file(self) -> str:
        return ""

    def parallelism(self) -> int:
        """Two statements at once: every one of them runs on all segments already."""
        return capacity.STATEMENTS_AT_ONCE

    def segments(self) -> int:
        return sum(i.is_primary_segment for i in self.instances())

    def everywhere(self, relation: str) -> str:
        return f"gp_dist_random('{relation}')"

    # Tables and their rows.

    def table_definition(self, table: str, columns: str, storage: Storage) -> str:
        return tables.definition(table, columns, storage)

    def skew(self, table: str) -> float:
        return skew.row_skew(self, table, self.segments())

    def series(self, first: int, last: int, step: int = 1) -> str:
        return loading.series(first, last, step, self.segments())

    def bulk_load(self, table: str, host: str, files: Sequence[str], *, name: str = "ext") -> BulkLoad:
        return loading.bulk_load(self, table, host, files, self.segments(), name=name)

    def warm(self, relations: Sequence[str]) -> None:
        caches.warm(self, relations)

    # Processes, and what they log and count.

    def stop(self) -> None:
        processes.stop(self)

    def start(self) -> None:
        processes.start(self)

    def recover(self) -> list[str]:
        return recovery.recover(self)

    def mark_logs(self, name: str) -> None:
        logs.mark(self, name)

    def logged_since(self, name: str) -> dict[str, int]:
        return logs.counted_since(self, name)

    def watch(self) -> Watch:
        return watch.watch(self)

    def counters(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.ask(statement("greenplum", "counters"))[0].items()}

    def segment_totals(self) -> dict[str, dict[str, int]]:
        return {str(row.pop("segment")): row for row in self.ask(statement("greenplum", "segment_totals"))}


ENGINE = Greenplum
