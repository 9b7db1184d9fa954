"""Data loading: files on the ETL host, by 16 parallel servers, into an empty partitioned table (paper 000)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base import database_work
from clusterbench.base.capabilities import ALONE
from clusterbench.base.datasets import Dataset
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.sql import identifier, statement
from clusterbench.drivers import psql_streams
from clusterbench.workloads import COMPRESSION, STORAGE, generation, kept, storage_not_applicable
from clusterbench.workloads.etl_files import etl_host
from clusterbench.workloads.needs import Needs
from clusterbench.workloads.retail import load_files, order_lineitems

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import BulkLoad, Database, Engine

IN_MEMORY_SHARE_MAX = 0.01
"""Of the files, in the ETL host's memory at the start: they are to come from its disks."""


class DataLoad:
    """The engine's bulk loader, driven and timed on the ETL host; then the table is checked, and dropped."""

    title = "Data loading"
    runs_on: Literal["client", "etl"] = "etl"
    outputs = psql_streams.OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "response_time_s": psql_streams.MEASUREMENTS["response_time_s"],
        "throughput_mb_per_s": MeasurementKind(
            "MB/s",
            "Bytes of the files loaded per second",
            "higher",
            about=About(
                "Bytes of the files divided by the response time, on the clock of the ETL host.",
                leaves_out="making the files, and checking the table",
            ),
        ),
        "throughput_rows_per_s": MeasurementKind(
            "1/s",
            "Rows loaded per second",
            "higher",
            about=About(
                "Rows of the files divided by the response time, on the clock of the ETL host.",
                leaves_out="making the files, and checking the table",
            ),
        ),
        "driver_cpu_share": psql_streams.MEASUREMENTS["driver_cpu_share"],
        **database_work.MEASUREMENTS,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "rows": order_lineitems.ROWS,
        "storage": STORAGE,
        "compression": COMPRESSION,
    }
    refused: ClassVar[Mapping[str, str]] = {
        **psql_streams.REFUSED,
        "window_s": "a load is measured from files that are on disk, not in memory, and a server writes what it was "
        "loaded with for some time after: a second load would be another measurement. Leave it out; with more 'rows' a "
        "load takes longer",
    }

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        rows = int(levels["rows"])
        made = order_lineitems.dataset_of(rows, seed, **kept(levels), table="order_lineitems_load")
        return replace(
            made,
            name="order_lineitems_files",
            files_bytes=rows * order_lineitems.FILE_LINE_BYTES,
            files_at_once=load_files.AT_ONCE,
            is_loaded_by_trial=True,
        )

    is_generated = staticmethod(load_files.is_generated)
    generate = staticmethod(load_files.generate)
    inspect = staticmethod(load_files.inspect)

    @staticmethod
    def checksum(dataset: Dataset) -> str | None:  # noqa: ARG004  every file has its SHA-256
        return None

    def answers(  # each answers alike
        self,
        dataset: Dataset,
        trials: Sequence[Trial],  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Rows and checksum of the loaded table."""
        checksum = order_lineitems.expected_checksum(dataset)
        if checksum is None:
            return None
        return {"rows": dataset.rows, "checksum": checksum, "source": "DuckDB over the same rows"}

    def relations(self, trial: Trial) -> list[str]:  # noqa: ARG002  the table is empty
        return []

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        return unavailable.get("etl") or unavailable.get(ALONE) or storage_not_applicable(levels, unavailable)

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """The paper loaded 661 MB/s (1 TB in 1514 s), the lab 60; to check the table takes as long again."""
        rows = int(levels["rows"])
        bytes_per_s = 661e6 if rows >= order_lineitems.PAPER_ROWS_MIN else 60e6
        return 10 + 2 * rows * order_lineitems.FILE_LINE_BYTES / bytes_per_s

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        """The table, and as much of it once more in the write-ahead log."""
        dataset = self.dataset(levels, seed)
        return Needs(
            load_files=load_files.FILES,
            read_bytes=dataset.files_bytes,
            written_bytes=2 * dataset.bytes_expected,
            relation_files=order_lineitems.files_of(len(dataset.storage.partitions), str(levels["storage"])),
        )

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        """An empty table, and files that are not in memory."""
        dataset = self.dataset(trial.levels, trial.seed)
        engine.set_session(trial.settings)
        generation.make_empty(dataset, engine, statement("order_lineitems", "columns"))
        if create := self._bulk_load(dataset, engine).create:
            engine.execute(create)
        in_memory, size = load_files.evict(dataset, engine)
        return {"session_settings": trial.settings, "files_bytes": size, "files_bytes_in_memory": in_memory}

    def job(self, trial: Trial, engine: Database) -> Job:
        dataset = self.dataset(trial.levels, trial.seed)
        how = self._bulk_load(dataset, engine)
        empty = statement("tables", "truncate", table=identifier(dataset.table))
        load = psql_streams.Streams(
            how.streams,
            before=f"{load_files.link(dataset, engine)}\n{how.before}",
            check=order_lineitems.checksum_query(dataset.table) + ";\n",
            on_failure=f"{empty};\n",
            after=how.after,
        )
        return psql_streams.job(load, engine.endpoint(pooled=False))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        reading, timed = psql_streams.read(output, _streams(output))
        seconds = reading.measurements.get("response_time_s")
        if not timed or not seconds:
            return reading
        before = json_of(output / "before.json").get("workload") or {}
        size, in_memory = int(before["files_bytes"]), int(before["files_bytes_in_memory"])
        rates = {
            "throughput_mb_per_s": size / 1e6 / seconds,
            "throughput_rows_per_s": int(trial.levels["rows"]) / seconds,
        }
        loaded = _loaded(output)
        wrong = _wrong_load(loaded, int(trial.levels["rows"]), expected)
        if in_memory > IN_MEMORY_SHARE_MAX * size:
            wrong = f"{in_memory:,} of the files' {size:,} bytes were in the ETL host's memory at the start"
        kept = {name: value for name, value in reading.measurements.items() if name in self.measurements}
        return replace(
            reading,
            measurements=kept | rates,
            invalid=(wrong,) if wrong and not reading.errors else (),
            details=reading.details | ({} if wrong else {"answer": loaded}),
        )

    def restore(self, trial: Trial, engine: Database) -> None:
        """Whatever became of the trial, no loaded table stays, whole or half."""
        dataset = self.dataset(trial.levels, trial.seed)
        if drop := self._bulk_load(dataset, engine).drop:
            engine.execute(drop)
        generation.drop(dataset, engine)
        engine.reset_session()

    @staticmethod
    def _bulk_load(dataset: Dataset, engine: Database) -> BulkLoad:
        return engine.bulk_load(dataset.table, etl_host(engine), load_files.names())


def _streams(output: Path) -> int:
    return len(list(output.glob("times.*")))


def _loaded(output: Path) -> dict[str, Any]:
    """Rows and checksum of the table after the load."""
    words = (output / "check.txt").read_text().split() if (output / "check.txt").exists() else []
    return {"rows": int(words[0]), "checksum": words[1]} if len(words) == 2 else {}


def _wrong_load(loaded: Mapping[str, Any], rows: int, expected: Mapping[str, Any]) -> str | None:
    if not loaded:
        return "the loaded table could not be checked: it gave neither rows nor checksum"
    if loaded["rows"] != rows:
        return f"the files have {rows:,} rows, the table has {loaded['rows']:,} after the load"
    if expected and loaded["checksum"] != expected["checksum"]:
        source = expected["source"]
        return f"the table's checksum is {loaded['checksum']}, that of the files {expected['checksum']} ({source})"
    return None


WORKLOAD = DataLoad()
