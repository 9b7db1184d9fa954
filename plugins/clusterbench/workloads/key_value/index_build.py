"""Building the index of the key-value table: how long a rebuild takes by table size (paper 001).

With a window the index is dropped and built again and again. The table stays in memory. No checkpoint is asked for
between two builds, so that what one of them made may be written to disk while the next one runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from psycopg.sql import Composable

from clusterbench.base import database_work
from clusterbench.base.capabilities import ALONE
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.sql import identifier, statement
from clusterbench.drivers import psql_streams
from clusterbench.workloads import (
    CACHE,
    COMPRESSION,
    STORAGE,
    cache_not_applicable,
    storage_not_applicable,
    window_s,
    with_window_s,
)
from clusterbench.workloads.key_value.key_value import KeyValueData
from clusterbench.workloads.needs import Needs

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database


WINDOW_S = replace(
    psql_streams.WINDOW_S,
    help="The shortest measured time in seconds: see docs/reference.md#window-of-index-builds. 0: the index is built "
    "once.",
)
ENTRY_BYTES = 22
"""Of the index, for each row: 16 and a pointer of 4, in pages that are nine tenths full (PostgreSQL 15)."""


class IndexBuild(KeyValueData):
    """A second index like the first is built on the table, timed by the client, and dropped again."""

    title = "Index build"
    outputs = psql_streams.OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "response_time_s": MeasurementKind(
            "s",
            "Time to build the index",
            about=About(
                "The whole CREATE INDEX, as the client sees it; with a window, the mean over all of them.",
                leaves_out="connecting, dropping the index, and builds before the window",
            ),
        ),
        "throughput_rows_per_s": MeasurementKind(
            "1/s", "Rows indexed per second", "higher", about=About("Rows of the table divided by that time.")
        ),
        "driver_cpu_share": psql_streams.MEASUREMENTS["driver_cpu_share"],
        **database_work.MEASUREMENTS,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "rows": KeyValueData.rows,
        "storage": STORAGE,
        "compression": COMPRESSION,
        "cache": CACHE,
        "window_s": WINDOW_S,
    }
    refused = psql_streams.REFUSED

    def relations(self, trial: Trial) -> list[str]:
        return [self.dataset(trial.levels, trial.seed).table]

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        return (
            unavailable.get(ALONE)
            or storage_not_applicable(levels, unavailable)
            or cache_not_applicable(levels, unavailable)
        )

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """The paper built 1000 M rows in 133 s on four hosts; the lab builds 1 M a second."""
        return 5 + with_window_s(int(levels["rows"]) / 1e6, levels)

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        table_bytes, index_bytes = self.dataset(levels, seed).bytes_expected, int(levels["rows"]) * ENTRY_BYTES
        return Needs(
            read_bytes=table_bytes,
            written_bytes=2 * index_bytes,  # its sort, and itself
            temporary_bytes=2 * index_bytes,
            relation_bytes=table_bytes,
            relation_files=2,
        )

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        engine.execute(statement("key_value", "drop_index", index=self._index(trial)))
        engine.set_session(trial.settings)
        return {"session_settings": dict(trial.settings)}

    def job(self, trial: Trial, engine: Database) -> Job:
        table = identifier(self.dataset(trial.levels, trial.seed).table)
        build = statement("key_value", "index", index=self._index(trial), table=table)
        drop = statement("key_value", "drop_index", index=self._index(trial))
        load = psql_streams.Streams([[build]], window_s=window_s(trial.levels), undo=drop)
        return psql_streams.job(load, engine.endpoint(pooled=False))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002  no answer
        reading, _ = psql_streams.read(output, 1)
        if not reading.measurements:
            return reading
        seconds = reading.measurements["statement_time_s_mean"]
        kept = {name: value for name, value in reading.measurements.items() if name in self.measurements}
        kept["response_time_s"] = seconds
        kept["throughput_rows_per_s"] = int(trial.levels["rows"]) / seconds if seconds else 0.0
        return replace(reading, measurements=kept)

    def restore(self, trial: Trial, engine: Database) -> None:
        engine.execute(statement("key_value", "drop_index", index=self._index(trial)))
        engine.reset_session()

    def _index(self, trial: Trial) -> Composable:
        return identifier(f"b_{self.dataset(trial.levels, trial.seed).table}_jkeynum")


WORKLOAD = IndexBuild()
