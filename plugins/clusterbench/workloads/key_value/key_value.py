"""Key-value lookups: JSON documents fetched by key, by many clients at once.

Source: "High Concurrency, Low Latency Index Lookups with Pivotal Greenplum Database" (paper 001).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base import database_work
from clusterbench.base.datasets import Dataset, Shares, row_skew_max, stored_as, stored_bytes
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.drivers import pgbench
from clusterbench.drivers.pgbench_log import LOG_KEPT_BYTES_MAX
from clusterbench.workloads import (
    AS_SET,
    CACHE,
    COMPRESSION,
    OPTIMIZER,
    STORAGE,
    Share,
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
)
from clusterbench.workloads.needs import LOG_LINE_BYTES, PAGE_BYTES, Needs

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Engine

ROW_BYTES = 570
"""On disk, row header and index entry included: measured on PostgreSQL 15; the document itself is 474 bytes."""
SHARES: Shares = {
    "none": (0.91, 0.94),
    "zlib_1": (0.12, 0.13),
    "zlib_5": (0.11, 0.12),
    "zlib_9": (0.11, 0.12),
    "zstd_1": (0.10, 0.11),
    "zstd_5": (0.11, 0.12),
    "zstd_9": (0.10, 0.11),
}
"""Measured on Greenplum 6.24.3 over 200,000 rows, with the index, which is as large everywhere: 28 bytes a row."""
CHECKED_BY_DUCKDB_ROWS_MAX = 10_000_000
"""Up to here DuckDB computes the checksum again (some 4 s a million rows); above, earlier runs know it."""
POOL_SIZE = 50
LOOKUP_PAGES = 5
"""That a lookup reads through the index: four of it, down to a billion rows, and one of the table."""
ANSWER_BYTES = 480
LOOKUPS_PER_S_MAX = 100_000
"""As a guess of how large a log becomes."""

SEEDS_APART = 100_003
"""Of drivers of one trial, so that none draws the keys that another draws in another repetition."""

SCAN = {"enable_indexscan": "off", "enable_bitmapscan": "off", "enable_indexonlyscan": "off"}
INDEX = {"enable_seqscan": "off"}
"""A path is chosen by forbidding the other, so that both run on one table, which never changes."""
LOOKUP = "lookup"
"""The only statement."""
UNPREPARED = ("plain", "protocol_parse")
"""Statement modes that leave nothing behind in their session."""
PROTOCOLS: Mapping[str, Literal["extended", "prepared"]] = {
    "protocol_parse": "extended",
    "protocol_prepare": "prepared",
}
"""pgbench's name of the extended protocol, by statement mode; the others use the simple one."""


class KeyValueData:
    """The dataset, shared by every workload that uses it."""

    runs_on: Literal["client", "etl"] = "client"
    rows: ClassVar[Factor] = Factor(
        1_000_000,
        "The rows of the table.",
        minimum=100,
        maximum=10_000_000_000,
        wording="{} rows",
        is_dataset=True,
        is_size=True,
    )

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        rows = int(levels["rows"])
        storage = stored_as("jkeynum", **kept(levels))
        table_bytes = stored_bytes(rows * ROW_BYTES, storage, SHARES)
        return Dataset("key_value", f"datajson_{rows}{storage.suffix}", rows, seed, table_bytes, storage)

    @staticmethod
    def is_generated(dataset: Dataset, engine: Database) -> bool:
        return generation.is_generated(dataset, engine)

    @staticmethod
    def generate(dataset: Dataset, engine: Database) -> None:
        """The rows, then the index."""
        table, index = identifier(dataset.table), identifier(index_of(dataset.table))

        def build_index() -> None:
            engine.execute(statement("key_value", "drop_index", index=index))
            engine.execute(statement("key_value", "index", index=index, table=table))

        columns = statement("key_value", "columns")
        generation.generate(dataset, engine, columns, lambda ids: insert(dataset, ids), build_index)

    @staticmethod
    def checksum(dataset: Dataset) -> str | None:
        expected = expected_checksum(dataset)
        return None if expected is None else str(expected)

    @staticmethod
    def answers(  # read from the keys
        dataset: Dataset,  # noqa: ARG004
        trials: Sequence[Trial],  # noqa: ARG004
        engine: Engine | None = None,  # noqa: ARG004
    ) -> dict[str, Any] | None:
        return None

    @staticmethod
    def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
        """One row of facts for the suite ``expectations/key_value.json``: two passes, one of them over the index."""
        table = identifier(dataset.table)
        found = engine.query(statement("key_value", "inspect", table=table))[0]
        repeated = engine.query(statement("key_value", "duplicates", table=table))[0]
        return {
            "table": dataset.table,
            "rows_expected": dataset.rows,
            "row_count": int(found["row_count"]),
            "key_min": found["key_min"],
            "key_max": found["key_max"],
            "duplicate_keys": int(repeated["duplicate_keys"]),
            "documents_with_wrong_key": int(found["documents_with_wrong_key"] or 0),
            "row_skew": engine.skew(dataset.table),
            "row_skew_max": row_skew_max(dataset.rows),
            "checksum": str(int(found["checksum"] or 0)),
        }


class KeyValue(KeyValueData):
    """Each client looks up so many random keys, one after the other, as fast as it can."""

    title = "Key-value lookups"
    outputs = pgbench.OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        **pgbench.MEASUREMENTS,
        **pgbench.OPEN_LOOP,
        **database_work.MEASUREMENTS,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "rows": KeyValueData.rows,
        "storage": STORAGE,
        "compression": COMPRESSION,
        "clients": Factor(
            1,
            "The clients that work at the same time.",
            minimum=1,
            maximum=2000,
            wording="{} clients",
            is_concurrency=True,
        ),
        "access": Factor(
            "index",
            "How a row is found: by the index, or by a scan of the whole table. The other path is forbidden in "
            "the session.",
            choices=("index", "scan"),
        ),
        "statement": Factor(
            "plain",
            "How a lookup is sent: see docs/reference.md#how-a-lookup-is-sent.",
            choices=("plain", "sql_prepare", "protocol_parse", "protocol_prepare"),
        ),
        "optimizer": OPTIMIZER,
        "cache": CACHE,
        "pooling": Factor(
            "direct",
            "Whether clients connect to the server, or to PgBouncer. PgBouncer pools transactions, and sessions "
            "for prepared statements.",
            choices=("direct", "pgbouncer"),
        ),
        "session": Factor(
            "kept",
            "Whether each client keeps one session, or opens a new one for each lookup.",
            choices=("kept", "per_lookup"),
        ),
        "lookups_per_client": Factor(
            2000,
            "How many lookups each client does, one after the other.",
            minimum=1,
            maximum=10_000_000,
            rehearsed_least=100,
            wording="{} lookups",
        ),
        "window_s": Factor(
            0,
            "The shortest measured time, in whole seconds: see docs/reference.md#window-of-lookups.",
            minimum=0,
            maximum=86_400,
            rehearsed_least=1,
            wording="{} s",
            is_later=True,
        ),
        "rate_per_s": Factor(
            0,
            "Lookups that all clients together begin each second (docs/reference.md#open-loop). 0: as fast as "
            "possible.",
            minimum=0,
            maximum=10_000_000,
            wording="{} lookups/s",
            is_later=True,
        ),
        "answers_checked": Factor(
            20,
            "How many lookups are repeated after the measured window and compared with DuckDB's answers.",
            minimum=1,
            maximum=10_000,
            wording="{} answers",
        ),
        "direct_dispatch": Factor(
            AS_SET,
            "Greenplum only: whether a lookup goes only to the segment that has the key.",
            choices=(AS_SET, "on", "off"),
            wording="direct dispatch {}",
            setting="gp_enable_direct_dispatch",
        ),
        "statement_mem": Factor(
            AS_SET,
            "Greenplum only: memory for one statement.",
            choices=(AS_SET, "25MB", "125MB"),
            wording="statement_mem {}",
            setting="statement_mem",
        ),
        "log_statement": Factor(
            AS_SET,
            "Which statements the server logs.",
            choices=(AS_SET, "none", "all"),
            wording="log_statement {}",
            setting="log_statement",
        ),
    }

    def relations(self, trial: Trial) -> list[str]:
        table = self.dataset(trial.levels, trial.seed).table
        return [table, index_of(table)]

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        if reason := optimizer_not_applicable(levels, unavailable) or settings_not_applicable(
            self.factors, levels, unavailable
        ):
            return reason
        if levels["session"] == "per_lookup" and levels["statement"] not in UNPREPARED:
            return "a prepared statement ends with its session, so it cannot be used with a new session per lookup"
        if levels["pooling"] == "pgbouncer" and "pooler" in unavailable:
            return unavailable["pooler"]
        pooled_prepared = levels["pooling"] == "pgbouncer" and levels["statement"] == "protocol_prepare"
        if pooled_prepared and "pooled_prepared" in unavailable:
            return unavailable["pooled_prepared"]
        return storage_not_applicable(levels, unavailable) or cache_not_applicable(levels, unavailable)

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """From the lab: 0.1 ms for an indexed lookup, 5 ms for a session of its own (most of it its login's password),
        10 GB/s scanned from memory, 10 s for the state of the caches."""
        lookups = int(levels["clients"]) * int(levels["lookups_per_client"])
        if rate_per_s := _rate_per_s(levels):
            return 5 + max(window_s(levels), lookups / rate_per_s) + (10 if levels["cache"] != "warm" else 0)
        if levels["access"] == "scan":
            return 5 + max(window_s(levels), lookups * int(levels["rows"]) * ROW_BYTES / 10e9)
        each_s = 1e-4 + (5e-3 if levels["session"] == "per_lookup" else 0)
        return 5 + max(window_s(levels), lookups * each_s) + (10 if levels["cache"] != "warm" else 0)

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        clients, each = int(levels["clients"]), int(levels["lookups_per_client"])
        table_bytes = self.dataset(levels, seed).bytes_expected
        log_bytes = (clients * each + window_s(levels) * LOOKUPS_PER_S_MAX) * LOG_LINE_BYTES
        by_scan = levels["access"] == "scan"
        return Needs(
            sessions=clients,
            server_sessions=_pooled(levels)[1] if levels["pooling"] == "pgbouncer" else None,
            reconnections=clients * (each - 1) if levels["session"] == "per_lookup" else 0,
            read_bytes=clients * each * (table_bytes if by_scan else LOOKUP_PAGES * PAGE_BYTES),
            written_bytes=0,
            relation_bytes=table_bytes,
            relation_files=2,
            output_bytes=max(min(log_bytes, LOG_KEPT_BYTES_MAX), int(levels["answers_checked"]) * ANSWER_BYTES),
            client_bytes=log_bytes,
        )

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        settings = dict(trial.settings)
        settings |= SCAN if trial.levels["access"] == "scan" else INDEX
        settings |= optimizer_setting(trial.levels, engine.unavailable)
        settings |= settings_chosen(self.factors, trial.levels)
        engine.set_session(settings)
        fallen_back(trial.levels, plans := self.plans(trial, engine))
        return {"session_settings": settings, "plan": plans[LOOKUP]}

    def plans(self, trial: Trial, engine: Database) -> dict[str, str]:
        """Of the statement that is measured: of EXECUTE where there is a PREPARE, by SQL or by the protocol."""
        key = str(_keys(trial, 1)[0])
        if trial.levels["statement"] in UNPREPARED:
            return engine.explain({LOOKUP: self._lookup(trial, key)})
        return engine.explain({LOOKUP: f"EXECUTE lookup({key})"}, before=self._prepare(trial))

    def _prepare(self, trial: Trial) -> str:
        return f"PREPARE lookup (bigint) AS {self._lookup(trial, '$1')}"

    def job(self, trial: Trial, engine: Database) -> Job:
        return self.job_of(trial, engine, Share.whole(int(trial.levels["clients"])))

    @staticmethod
    def is_spread(trial: Trial) -> bool:
        """Not through the pooler, which runs beside one driver."""
        return int(trial.levels["clients"]) > 1 and trial.levels["pooling"] == "direct"

    def job_of(self, trial: Trial, engine: Database, share: Share) -> Job:
        """Of one driver; the first asks for the answers that are checked."""
        pooled = trial.levels["pooling"] == "pgbouncer"
        if pooled:
            engine.start_pooler(*_pooled(trial.levels))
        load = pgbench.ScriptLoad(
            script=self._script(trial),
            clients=share.clients,
            transactions_per_client=int(trial.levels["lookups_per_client"]),
            protocol=PROTOCOLS.get(str(trial.levels["statement"]), "simple"),
            reconnect=trial.levels["session"] == "per_lookup",
            seed=trial.seed + trial.repetition + SEEDS_APART * share.number,
            rate_per_s=share.of_rate(_rate_per_s(trial.levels)),
            window_s=window_s(trial.levels),
            variables={"prepared": 0},
            answers=self._answers(trial) if share.number == 0 else "",
            start_s=share.start_s,
            ahead_us=share.ahead_us,
        )
        return pgbench.job(load, engine.endpoint(pooled=pooled))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002  it knows
        lookups = int(trial.levels["clients"]) * int(trial.levels["lookups_per_client"])
        is_fixed, rate_per_s = not window_s(trial.levels), _rate_per_s(trial.levels)
        reading = pgbench.read(output, lookups, is_fixed=is_fixed, rate_per_s=rate_per_s)
        keys = _keys(trial, int(trial.levels["answers_checked"]))
        wrong = wrong_answers(output / "answers.txt", keys, trial.seed)
        if wrong and not reading.errors:
            return replace(reading, invalid=(*reading.invalid, wrong))
        return reading

    def restore(self, trial: Trial, engine: Database) -> None:
        if trial.levels["pooling"] == "pgbouncer":
            engine.stop_pooler()
        engine.reset_session()

    def _lookup(self, trial: Trial, key: str) -> str:
        table = identifier(self.dataset(trial.levels, trial.seed).table)
        return statement("key_value", "lookup", table=table, key=raw(key))

    def _script(self, trial: Trial) -> str:
        """pgbench's script: one transaction is one lookup of a random key that exists."""
        choose = f"\\set key random(1, {int(trial.levels['rows'])})\n"
        if trial.levels["statement"] != "sql_prepare":
            return choose + self._lookup(trial, ":key") + ";\n"
        prepare = self._prepare(trial) + ";\n"
        # pgbench keeps a variable for as long as the client lives, so each session prepares once.
        once = f"\\if :prepared = 0\n{prepare}\\set prepared 1\n\\endif\n"
        return once + choose + "EXECUTE lookup(:key);\n"

    def _answers(self, trial: Trial) -> str:
        """The same statements, for keys that are checked, in one session after the measured window."""
        keys = _keys(trial, int(trial.levels["answers_checked"]))
        if trial.levels["statement"] != "sql_prepare":
            return "".join(f"{self._lookup(trial, str(key))};\n" for key in keys)
        prepare = self._prepare(trial) + ";\n"
        return "BEGIN;\n" + prepare + "".join(f"EXECUTE lookup({key});\n" for key in keys) + "COMMIT;\n"


def _rate_per_s(levels: Mapping[str, Level]) -> float:
    """0: as fast as it goes."""
    return float(levels.get("rate_per_s", 0))


def _pooled(levels: Mapping[str, Level]) -> tuple[str, int]:
    """What is pooled, and how many sessions the pooler has with the server."""
    clients = int(levels["clients"])
    return ("transaction", min(POOL_SIZE, clients)) if levels["statement"] in UNPREPARED else ("session", clients)


def index_of(table: str) -> str:
    return f"i_{table}_jkeynum"


def insert(dataset: Dataset, ids: str) -> str:
    """The statement that makes the rows of ``ids``, an expression for FROM (``Database.series``)."""
    rows = statement("key_value", "rows", seed=str(dataset.seed), ids=raw(ids))
    return statement("key_value", "insert", table=identifier(dataset.table), rows=raw(rows))


def expected_checksum(dataset: Dataset) -> int | None:
    """The table's checksum by DuckDB over rows made again, or None where that would take too long."""
    if dataset.rows > CHECKED_BY_DUCKDB_ROWS_MAX:
        return None
    rows = statement("key_value", "rows", seed=str(dataset.seed), ids=raw(f"generate_series(1, {dataset.rows})"))
    return int(_duckdb(statement("key_value", "checksum_duckdb", rows=raw(rows)))[0][0])


def expected_documents(keys: Sequence[int], seed: int) -> dict[int, str]:
    """The documents of ``keys``, by DuckDB."""
    listed = ", ".join(f"({int(key)})" for key in keys)
    rows = statement("key_value", "rows", seed=str(seed), ids=raw(f"(VALUES {listed})"))
    return {int(key): str(document) for document, key, _ in _duckdb(rows)}


def wrong_answers(path: Path, keys: Sequence[int], seed: int) -> str | None:
    """What is wrong with the answers in ``path``, or None."""
    text = path.read_text() if path.exists() else ""
    found = [answer.strip("\n") for answer in text.split("\0") if answer.strip("\n")]
    documents = expected_documents(keys, seed)
    if len(found) != len(keys):
        return f"{len(keys)} lookups were to be checked, but {len(found)} gave an answer"
    for key, answer in zip(keys, found, strict=True):
        if answer != documents[key]:
            return f"wrong answer for key {key}: found {answer[:80]!r}…, expected {documents[key][:80]!r}…"
    return None


def _keys(trial: Trial, count: int) -> list[int]:
    """Keys to check: fixed by the trial's seed and repetition, each once."""
    rows = int(trial.levels["rows"])
    chooser = random.Random(f"answers:{trial.seed}:{trial.repetition}")  # noqa: S311  to repeat, not a secret
    return [chooser.randint(1, rows) for _ in range(count)]


def _duckdb(query: str) -> list[tuple[Any, ...]]:
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    with duckdb.connect() as database:
        return list(database.execute(query).fetchall())


WORKLOAD = KeyValue()
