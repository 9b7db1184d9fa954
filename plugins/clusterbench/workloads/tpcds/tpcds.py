"""TPC-DS: streams of queries, each in an order and with parameters of its own (paper 004; TPC-DS specification 3.2).

Not a TPC-DS result as the TPC publishes them: loading, maintenance and the metric are left out, as in the paper.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base import database_work
from clusterbench.base.datasets import Dataset
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import NO_CLOCK, About, MeasurementKind, Phase, Reading
from clusterbench.drivers import psql_streams, stream_readings
from clusterbench.drivers.pgbench import driver_cores
from clusterbench.hosts import node_spread
from clusterbench.workloads import (
    CACHE,
    COMPRESSION,
    OPTIMIZER,
    STORAGE,
    cache_not_applicable,
    fallen_back,
    kept,
    optimizer_not_applicable,
    optimizer_setting,
    storage_not_applicable,
    window_s,
    with_window_s,
)
from clusterbench.workloads.from_duckdb import answers
from clusterbench.workloads.from_duckdb.reference import answer
from clusterbench.workloads.needs import Needs
from clusterbench.workloads.tpcds import data, parameters, queries, reference_on_host, selection

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Engine

DRIVER_CORES_MAX = 0.1
"""Above, the report warns: the driver is to be small beside what it measures, also with 100 streams."""
WRONG_SHOWN = 5
ANSWER_BYTES = 4_000
"""Of one query, of at most 100 rows; roughly, for the room that they take."""
PAPER_SCALE_FACTOR_MIN = 100.0
"""From here on estimates take the paper's cluster for granted; below, the lab."""
PAPER_S = {"lite": (0, 68), "full": (1300, 1300)}
"""The paper's table, scenario 1: seconds of a trial are about the first, and the second for every stream."""
LAB_S_PER_SCALE_FACTOR = {"lite": 60, "full": 600}
"""Of one stream on half a processor, where the answers' checking is in, too."""


def _time_of(query: int) -> str:
    """The measurement's name."""
    return f"q{query:02d}_s"


def _statement(query: int) -> str:
    return f"query {query}"


class Tpcds:
    """N streams run all queries of a test, each stream in an order of its own; think time is none."""

    title = "TPC-DS queries"
    runs_on: Literal["client", "etl"] = "client"
    outputs = psql_streams.OUTPUTS
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "response_time_s": psql_streams.MEASUREMENTS["response_time_s"],
        **psql_streams.MEASUREMENTS,
        "driver_cores": MeasurementKind(
            "1",
            "Processors that the driver took",
            "neither",
            about=About(
                "Processor time of the driver over the elapsed time, over all its processes. Above 0.1 the trial has a "
                "warning.",
                leaves_out="connecting",
            ),
        ),
        "interconnect_warnings": MeasurementKind(
            "1",
            "Interconnect warnings in the engine's logs",
            about=About(
                "Lines of Greenplum's logs, on all its hosts, that warn of its interconnect while the trial ran.",
                NO_CLOCK,
            ),
        ),
        **node_spread.MEASUREMENTS,
        **database_work.MEASUREMENTS,
        **{
            _time_of(query): MeasurementKind(
                "s", f"Mean time of query {query}", statement=_statement(query), about=psql_streams.OF_STATEMENT
            )
            for query in selection.queries_of("full")
        },
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "test": Factor("full", "`full`: all 99 queries. `lite`: the 51 fastest of them.", choices=("full", "lite")),
        "streams": psql_streams.STREAMS,
        "scale_factor": Factor(
            1,
            "The size of the data. 1 is about 1 GB of files.",
            minimum=0.01,
            maximum=100_000,
            is_fractional=True,
            wording="scale factor {}",
            is_dataset=True,
            is_size=True,
        ),
        "generator": Factor(
            data.DUCKDB,
            "Whose rows are generated: DuckDB's or the specification's. See docs/tpcds.md#two-generators.",
            choices=data.GENERATORS,
            wording="rows of {}",
            is_dataset=True,
            is_later=True,
        ),
        "parameters": Factor(
            "drawn",
            "`drawn`: each stream draws its own values. `qualification`: all have the values of the "
            "specification's appendix B.",
            ("drawn", "qualification"),
        ),
        "statement_timeout_s": Factor(
            3600,
            "The seconds that one query may take. A trial with a longer one has timed out.",
            minimum=1,
            maximum=86_400,
            wording="{} s a query",
        ),
        "optimizer": OPTIMIZER,
        "storage": STORAGE,
        "compression": COMPRESSION,
        "cache": CACHE,
        "window_s": psql_streams.WINDOW_S,
    }
    refused = psql_streams.REFUSED

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:  # noqa: ARG004  the generator's rows are always the same
        generator = str(levels.get("generator", data.DUCKDB))  # archives made before have none
        return data.dataset_of(float(levels["scale_factor"]), **kept(levels), generator=generator)

    is_generated = staticmethod(data.is_generated)
    generate = staticmethod(data.generate)
    inspect = staticmethod(data.inspect)
    checksum = staticmethod(data.checksum)

    def answers(self, dataset: Dataset, trials: Sequence[Trial], engine: Engine | None = None) -> dict[str, Any] | None:
        """The answer to every query with every set of parameters that a stream will use, by DuckDB.

        On the worker up to ``CHECKED_BY_DUCKDB_SCALE_MAX``; above, on the host that the platform declares for it. Where
        it declares none, earlier runs know the answers.
        """
        from clusterbench.workloads.tpcds import reference  # noqa: PLC0415  slow to import, and not needed on every path

        asked = {key: (query, values) for trial in trials for key, query, values in _asked(trial)}
        texts = {key: queries.text(query, values, "duckdb") for key, (query, values) in sorted(asked.items())}
        scale_factor, generator = data.scale_factor_of(dataset), data.generator_of(dataset)
        if not asked:
            return None
        if scale_factor <= data.CHECKED_BY_DUCKDB_SCALE_MAX:
            with reference.database(scale_factor, generator) as database:
                found = {key: answer(database, text) for key, text in texts.items()}
            return {"source": "DuckDB over the same rows", "answers": found}
        if engine is None or (place := engine.platform.independent_answers) is None:
            return None
        rows = reference_on_host.Rows(generator, scale_factor)
        found = reference_on_host.answers(texts, rows, place, engine.fleet)
        return {"source": f"DuckDB over the same rows, on host {place.host!r}", "answers": found}

    def relations(self, trial: Trial) -> list[str]:
        return data.relations(self.dataset(trial.levels, trial.seed))

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        return (
            optimizer_not_applicable(levels, unavailable)
            or storage_not_applicable(levels, unavailable)
            or cache_not_applicable(levels, unavailable)
        )

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        test, count, scale_factor = str(levels["test"]), int(levels["streams"]), float(levels["scale_factor"])
        if scale_factor >= PAPER_SCALE_FACTOR_MIN:
            begin, each = PAPER_S[test]
            return 60 + begin + count * each
        return 10 + with_window_s(count * LAB_S_PER_SCALE_FACTOR[test] * scale_factor, levels)

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        """Every query reads each table that it names once, whole."""
        dataset, streams, asked = self.dataset(levels, seed), int(levels["streams"]), selection.queries_of
        reads = sum(data.read_share(query) for query in asked(str(levels["test"]))) * dataset.bytes_expected
        answers_bytes = streams * len(asked(str(levels["test"]))) * ANSWER_BYTES
        return Needs(
            sessions=streams,
            read_bytes=int(streams * reads),
            relation_bytes=dataset.bytes_expected,
            relation_files=data.files_of(dataset),
            output_bytes=answers_bytes,
            client_bytes=answers_bytes,
        )

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        settings = dict(trial.settings) | {
            "search_path": f"{self.dataset(trial.levels, trial.seed).table}, public",
            "statement_timeout": f"{trial.levels['statement_timeout_s']}s",
        }
        settings |= optimizer_setting(trial.levels, engine.unavailable)
        engine.set_session(settings)
        plans = self.plans(trial, engine) if trial.levels["optimizer"] == "orca" else {}
        return {"session_settings": settings, "planned_by_planner": fallen_back(trial.levels, plans)}

    @staticmethod
    def plans(trial: Trial, engine: Database) -> dict[str, str]:
        """Of each query once, as the first stream asks it: whether ORCA can plan one does not depend on parameters."""
        (first, *_) = _streams(trial)
        asked = sorted(selection.queries_of(str(trial.levels["test"])))
        texts = {
            _statement(query): queries.text(query, _values(trial, query, first), engine.dialect) for query in asked
        }
        return engine.explain(texts)

    def job(self, trial: Trial, engine: Database) -> Job:
        """Each statement begins with its name as a comment, by which waits are distinguished (``trial/waits.py``)."""

        def copy(query: int, stream: int) -> str:
            text = queries.text(query, _values(trial, query, stream), engine.dialect)
            return f"COPY (/* {_statement(query)} */ {text}) TO STDOUT"

        asked = [[copy(query, stream) for query in order(trial, stream)] for stream in _streams(trial)]
        load = psql_streams.Streams(
            asked, goes_on=True, keeps_answers=True, window_s=window_s(trial.levels), orders=_orders(trial)
        )
        return psql_streams.job(load, engine.endpoint(pooled=False))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        planned = {stream: order(trial, stream) for stream in _streams(trial)}
        reading, timed = psql_streams.read(output, sum(map(len, planned.values())), _orders(trial))
        details: dict[str, Any] = dict(reading.details) | {
            "queries": stream_readings.each(planned, timed, "query"),
            "fixed_parameters": {query: why for query, why in parameters.fixed().items() if query in planned[1]},
        }
        reading = replace(reading, timed_out=stream_readings.past_their_limit(planned, timed, "query"))
        if not reading.measurements:
            return replace(reading, details=details)
        cores = driver_cores((output / "driver_cpu.txt").read_text())
        if cores is not None and cores > DRIVER_CORES_MAX:
            share = f"{cores:.0%} of a processor; more than {DRIVER_CORES_MAX:.0%} is much"
            details["warnings"] = [f"the driver took {share}"]
        if fell := (json_of(output / "before.json").get("workload") or {}).get("planned_by_planner"):
            said = f"ORCA did not plan {len(fell)} of {len(planned[1])} queries, the planner did: {', '.join(fell)}"
            details["warnings"] = [*details.get("warnings", []), said]
        kept = _answers(output, trial, planned, timed)
        wrong = _wrong(kept, expected)
        if (count := sum(map(len, kept.values()))) < reading.samples:
            wrong.append(f"answers to be checked: {reading.samples}, found: {count}")
        answered = {key: _sum(found[0]) for key, found in kept.items()} if not wrong else {}
        return replace(
            reading,
            measurements=reading.measurements
            | ({} if cores is None else {"driver_cores": cores})
            | {_time_of(query): mean for query, mean in sorted(stream_readings.means(planned, timed).items())},
            invalid=tuple(wrong),
            phases=(Phase("streams", reading.window_start_s or 0.0, reading.window_end_s or 0.0),),
            details=details | {"answer": answered},
        )

    def restore(self, trial: Trial, engine: Database) -> None:  # noqa: ARG002  as every workload has it
        engine.reset_session()


# What each stream asks.


def _streams(trial: Trial) -> range:
    return range(1, int(trial.levels["streams"]) + 1)


def order(trial: Trial, stream: int, rounds_before: int = 0) -> list[int]:
    """The same for one stream, whatever the concurrency and the repetition. A later round of a window has the order
    that a further stream would have."""
    number = stream + rounds_before * int(trial.levels["streams"])
    return parameters.order(selection.queries_of(str(trial.levels["test"])), number, trial.seed)


def _orders(trial: Trial) -> list[list[list[int]]]:
    """Of each stream by round; none where every stream asks once.

    Parameters are the stream's own in all rounds. How many there will be is not known before, and all answers are.
    """
    return psql_streams.orders(_streams(trial), partial(order, trial)) if window_s(trial.levels) else []


def _parameter_set(trial: Trial, query: int, stream: int) -> int:
    """Streams with parameters of their own are counted from 1; 0 are the qualification values."""
    is_drawn = trial.levels["parameters"] == "drawn" and query not in parameters.fixed()
    return stream if is_drawn else 0


def _values(trial: Trial, query: int, stream: int) -> Mapping[str, int | str]:
    return parameters.values(query, _parameter_set(trial, query, stream), trial.seed)


def _key(trial: Trial, query: int, stream: int) -> str:
    """What a query with its parameters is called among the answers: "q07.3" is that of stream 3."""
    return f"q{query:02d}.{_parameter_set(trial, query, stream)}"


def _asked(trial: Trial) -> Iterator[tuple[str, int, Mapping[str, int | str]]]:
    for stream in _streams(trial):
        for query in order(trial, stream):
            yield _key(trial, query, stream), query, _values(trial, query, stream)


# What they got.


def _answers(
    output: Path, trial: Trial, planned: Mapping[int, Sequence[int]], timed: Sequence[psql_streams.Timed]
) -> dict[str, list[list[str]]]:
    """By key the lines of every answer that was given to it, by one stream or by several."""
    found: dict[str, list[list[str]]] = {}
    kept = psql_streams.kept_answers(output)
    for one in timed:
        if not one.error and (lines := kept.get((one.stream, one.number, one.round))) is not None:
            query = planned[one.stream][one.number - 1]
            found.setdefault(_key(trial, query, one.stream), []).append(lines)
    return found


def _wrong(kept: Mapping[str, Sequence[list[str]]], expected: Mapping[str, Any]) -> list[str]:
    """What is wrong with answers, one entry a set of parameters, the first few."""
    found = []
    for key, given in sorted(kept.items()):
        distinct = {_sum(lines): lines for lines in given}
        said = [why for lines in distinct.values() if (why := _difference(lines, key, expected))]
        if said:
            source = expected["source"]
            found.append(f"wrong answer to query {int(key[1:3])}, parameters {key[4:]}: {said[0]} (expected: {source})")
    return found[:WRONG_SHOWN] + ([f"and {len(found) - WRONG_SHOWN} more"] if len(found) > WRONG_SHOWN else [])


def _difference(lines: Sequence[str], key: str, expected: Mapping[str, Any]) -> str | None:
    by_duckdb = expected.get("answers") or {}
    if key in by_duckdb:
        return answers.difference(answers.rows("\n".join(lines)), by_duckdb[key])
    if key in expected and tuple(expected[key]) != _sum(lines):
        return f"{len(lines)} rows, expected {expected[key][0]}, or other values in them"
    return None


def _sum(lines: Sequence[str]) -> tuple[int, str]:
    """Rows, and the SHA-256 of the sorted rows."""
    return len(lines), hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


WORKLOAD = Tpcds()
