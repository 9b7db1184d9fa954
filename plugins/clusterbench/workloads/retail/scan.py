"""A statement over ``order_lineitems``, run by several streams at once: what FullScanSQL and PartialScanSQL share.

Source: paper 000, "Test and Measurement Tools" and "Experimental Results".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base import database_work
from clusterbench.base.datasets import Dataset, Partition
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.sql import Value, identifier, raw, statement
from clusterbench.drivers import psql_streams
from clusterbench.workloads import (
    AS_SET,
    CACHE,
    COMPRESSION,
    OPTIMIZER,
    STORAGE,
    cache_not_applicable,
    fallen_back,
    generation,
    kept,
    optimizer_not_applicable,
    optimizer_setting,
    settings_chosen,
    settings_not_applicable,
    storage_not_applicable,
    window_s,
    with_window_s,
)
from clusterbench.workloads.needs import Needs
from clusterbench.workloads.retail import order_lineitems

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Engine

SCAN = "scan"
"""The only statement."""
SCAN_BYTES_PER_S, PAPER_SCAN_BYTES_PER_S = 500e6, 6e9
"""From disk, for estimates only: the lab's one, and the paper's 64 (6 TB in 991 s)."""


class RetailScan:
    """A subclass names the statement, and the partitions that it reads."""

    title: str
    statement: str
    runs_on: Literal["client", "etl"] = "client"
    outputs = psql_streams.OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "response_time_s": psql_streams.MEASUREMENTS["response_time_s"],
        "throughput_rows_per_s": MeasurementKind(
            "1/s",
            "Rows scanned per second",
            "higher",
            about=About(
                "Rows of the partitions that the statement reads, times the streams, divided by the response time."
            ),
        ),
        **psql_streams.MEASUREMENTS,
        **database_work.MEASUREMENTS,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "rows": order_lineitems.ROWS,
        "storage": STORAGE,
        "compression": COMPRESSION,
        "optimizer": replace(OPTIMIZER, is_later=True),
        "streams": psql_streams.STREAMS,
        "cache": CACHE,
        "window_s": psql_streams.WINDOW_S,
        "work_mem": Factor(
            AS_SET,
            "PostgreSQL's memory for one sort or hash.",
            choices=(AS_SET, "1MB", "4MB", "64MB", "256MB", "1GB"),
            wording="work_mem {}",
            setting="work_mem",
        ),
        "statement_mem": Factor(
            AS_SET,
            "Greenplum only: memory for one statement.",
            choices=(AS_SET, "25MB", "125MB", "500MB", "2GB"),
            wording="statement_mem {}",
            setting="statement_mem",
        ),
    }

    refused = psql_streams.REFUSED
    spilled_bytes_per_row: int = 0
    """Of sorts and hashes larger than memory, written to temporary files for each row that is read."""

    def partitions(self) -> list[Partition]:
        raise NotImplementedError

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        return order_lineitems.dataset_of(int(levels["rows"]), seed, **kept(levels))

    is_generated = staticmethod(generation.is_generated)
    generate = staticmethod(order_lineitems.generate)
    inspect = staticmethod(order_lineitems.inspect)
    checksum = staticmethod(order_lineitems.expected_checksum)

    def answers(  # each answers alike
        self,
        dataset: Dataset,
        trials: Sequence[Trial],  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Rows and checksum of the answer by DuckDB, and its lines; None where that would take too long."""
        if dataset.rows > order_lineitems.CHECKED_BY_DUCKDB_ROWS_MAX:
            return None
        query = statement("retail", self.statement, table=raw(order_lineitems.duckdb_rows(dataset)))
        lines = sorted("\t".join(row) for row in order_lineitems.duckdb(query, as_text=True))
        text = "".join(f"{line}\n" for line in lines)
        return {
            "rows": len(lines),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "lines": lines,
            "source": "DuckDB over the same rows",
        }

    def relations(self, trial: Trial) -> list[str]:
        table = self.dataset(trial.levels, trial.seed).table
        return [part.table(table) for part in self.partitions()]

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        return (
            optimizer_not_applicable(levels, unavailable)
            or settings_not_applicable(self.factors, levels, unavailable)
            or storage_not_applicable(levels, unavailable)
            or cache_not_applicable(levels, unavailable)
        )

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """The paper's table is larger than any cache; the lab's is read from memory at ten times the speed of disk."""
        read, streams = self._rows_read(levels) * order_lineitems.ROW_BYTES, int(levels["streams"])
        if int(levels["rows"]) >= order_lineitems.PAPER_ROWS_MIN:
            return 60 + streams * read / PAPER_SCAN_BYTES_PER_S
        cold = 10 + read / SCAN_BYTES_PER_S if levels["cache"] == "cold" else 0
        once = streams * read / (10 * SCAN_BYTES_PER_S)
        return 6 + cold + with_window_s(once, levels)

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        dataset = self.dataset(levels, seed)
        rows, streams, parts = self._rows_read(levels), int(levels["streams"]), self.partitions()
        table_bytes, spilled = rows * order_lineitems.ROW_BYTES, streams * rows * self.spilled_bytes_per_row
        return Needs(
            sessions=streams,
            read_bytes=streams * table_bytes + spilled,
            written_bytes=spilled,
            temporary_bytes=spilled,
            relation_bytes=dataset.bytes_expected * rows // dataset.rows,
            relation_files=order_lineitems.files_of(len(parts), str(levels["storage"])),
            output_bytes=psql_streams.ANSWER_KEPT_BYTES_MAX,
            client_bytes=streams * psql_streams.ANSWER_KEPT_BYTES_MAX,
        )

    def _rows_read(self, levels: Mapping[str, Level]) -> int:
        return sum(order_lineitems.rows_of(part, int(levels["rows"])) for part in self.partitions())

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        settings = dict(trial.settings) | optimizer_setting(trial.levels, engine.unavailable)
        settings |= settings_chosen(self.factors, trial.levels)
        engine.set_session(settings)
        fallen_back(trial.levels, plans := self.plans(trial, engine))
        return {"session_settings": settings, "plan": plans[SCAN]}

    def plans(self, trial: Trial, engine: Database) -> dict[str, str]:
        return engine.explain({SCAN: self._query(trial)})

    def job(self, trial: Trial, engine: Database) -> Job:
        each = [f"COPY ({self._query(trial)}) TO STDOUT"]
        load = psql_streams.Streams([each] * int(trial.levels["streams"]), window_s=window_s(trial.levels))
        return psql_streams.job(load, engine.endpoint(pooled=False))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        count = int(trial.levels["streams"])
        reading, _ = psql_streams.read(output, count)
        if not reading.measurements:
            return reading
        seconds = reading.measurements["response_time_s"]
        rate = {"throughput_rows_per_s": self._rows_read(trial.levels) * count / seconds} if seconds else {}
        wrong = wrong_answer(output, reading.samples, expected) if not reading.errors else None
        answered = {"answer": answer_of(output)} if wrong is None else {}
        return replace(
            reading,
            measurements=reading.measurements | rate,
            invalid=(wrong,) if wrong else (),
            details=reading.details | answered,
        )

    def restore(self, trial: Trial, engine: Database) -> None:  # noqa: ARG002  as every workload has it
        engine.reset_session()

    def _query(self, trial: Trial) -> str:
        table: Value = identifier(self.dataset(trial.levels, trial.seed).table)
        return statement("retail", self.statement, table=table)


def answer_of(output: Path) -> dict[str, Any]:
    """What the first stream answered, for later runs to compare with."""
    found = psql_streams.answers(output)
    return {"rows": found[0][0], "sha256": found[0][1]} if found else {}


def wrong_answer(output: Path, count: int, expected: Mapping[str, Any]) -> str | None:
    """What is wrong with the ``count`` answers that were measured, of all streams and rounds, or None."""
    found = psql_streams.answers(output)
    if len(found) != count:
        return f"answers to be checked: {count}, found: {len(found)}"
    if len(set(found)) > 1:
        return f"the streams gave {len(set(found))} different answers to one statement"
    if not expected or found[0] == (expected["rows"], expected["sha256"]):
        return None
    ours, theirs = psql_streams.kept_answer(output), expected.get("lines")
    said = f"wrong answer: {found[0][0]:,} rows, expected {expected['rows']:,} ({expected['source']})"
    if ours is None or theirs is None:
        return f"{said}; SHA-256 of the sorted rows {found[0][1][:12]}…, expected {expected['sha256'][:12]}…"
    line, one, other = next(
        (n, one, other) for n, (one, other) in enumerate(zip_longest(ours, theirs), 1) if one != other
    )
    return f"{said}; row {line} of the sorted rows is {one!r}, expected {other!r}"
