"""A declared workload of streams: psql sessions at once, each its statements one after the other, in an order of its
own and with parameters of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.drivers import pgbench, psql_streams, psql_until, stream_readings
from clusterbench.workloads import CACHE, window_s, with_window_s
from clusterbench.workloads.declared import asked, parameters, sql_text
from clusterbench.workloads.declared.clients import placeholders
from clusterbench.workloads.declared.folder import Folder
from clusterbench.workloads.declared.parameters import Drawn, Listed

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.base.sql import Dialect
    from clusterbench.engines import Endpoint

FACTORS: Mapping[str, Factor] = {
    "streams": psql_streams.STREAMS,
    "statements": Factor(
        "all", "All statements, or the one of this name.", is_free=True, wording="statements {}", is_later=True
    ),
    "statement_timeout_s": Factor(
        3600,
        "The seconds that one statement may take. A trial with a longer one has timed out.",
        minimum=1,
        maximum=86_400,
        wording="{} s a statement",
    ),
    "cache": CACHE,
    "window_s": psql_streams.WINDOW_S,
}
CHANGES_ROWS = (
    "its statements change rows, so that each round of a window would find other rows than the one before; leave "
    "'window_s' out"
)


def factors(folder: Folder) -> dict[str, Factor]:
    names = ("all", *folder.said.statements)
    return {**FACTORS, "statements": replace(FACTORS["statements"], is_free=False, choices=names)}


def not_applicable(folder: Folder, levels: Mapping[str, Level]) -> str | None:
    """Of levels that these statements cannot have."""
    return CHANGES_ROWS if window_s(levels) and not folder.only_reads else None


def measurements(folder: Folder) -> dict[str, MeasurementKind]:
    return {
        **psql_streams.MEASUREMENTS,
        **{
            f"{name}_s": MeasurementKind("s", f"Mean time of {title}", statement=title, about=psql_streams.OF_STATEMENT)
            for name, title in folder.titles.items()
        },
    }


def estimate_s(folder: Folder, levels: Mapping[str, Level]) -> float:
    return 10 + with_window_s(int(levels["streams"]) * folder.said.seconds_per_stream, levels)


def chosen(folder: Folder, levels: Mapping[str, Level]) -> list[str]:
    only = str(levels.get("statements", "all"))
    return list(folder.said.statements) if only == "all" else [only]


def order(folder: Folder, trial: Trial, stream: int, rounds_before: int = 0) -> list[str]:
    """As the folder says it; without orders, a permutation of its own, the same in every repetition. A later round of a
    window has the order that a further stream would have."""
    names, said = chosen(folder, trial.levels), folder.said.orders
    number = stream + rounds_before * int(trial.levels["streams"])
    if not said:
        permuted = sorted(names)
        Random(f"{trial.seed} order {number}").shuffle(permuted)  # noqa: S311  to be repeated, not a secret
        return permuted
    alone = int(trial.levels["streams"]) == 1
    of_several = said[1:] or said
    found = said[0] if alone else of_several[(number - 1) % len(of_several)]
    return [name for name in found if name in names]


def orders(folder: Folder, trial: Trial) -> list[list[list[int]]]:
    """Of each stream by round; none where every stream runs once.

    Parameters are the stream's own in all rounds. How many there will be is not known before, and all answers are.
    """
    return psql_streams.orders(streams(trial), partial(order, folder, trial)) if window_s(trial.levels) else []


def key(name: str, stream: int, folder: Folder) -> str:
    """What a statement with its parameters is called among the answers; without any, it answers alike to all."""
    return f"{name}.{stream if folder.parameters_of(name) else 0}"


def drawn(folder: Folder, trial: Trial, name: str, stream: int, listed: Listed) -> dict[str, Drawn]:
    random = Random(f"{trial.seed} {name} stream {stream}")  # noqa: S311  as above
    return parameters.draw(folder.parameters_of(name), random, trial.levels, listed)


def text(  # noqa: PLR0917  all of it tells what a statement is
    folder: Folder, trial: Trial, name: str, stream: int, dialect: Dialect | str, listed: Listed
) -> str:
    values = parameters.composed_as(drawn(folder, trial, name, stream, listed), folder.parameters_of(name))
    (only,) = folder.statements(name, dialect, {**placeholders(folder, trial.levels), **values})
    return " ".join(only.split("\n"))


def asked_texts(folder: Folder, trial: Trial, dialect: Dialect | str, listed: Listed) -> dict[str, str]:
    """Key -> statement, of all streams."""
    return {
        key(name, stream, folder): text(folder, trial, name, stream, dialect, listed)
        for stream in streams(trial)
        for name in order(folder, trial, stream)
    }


def asked_with(folder: Folder, trial: Trial, listed: Listed) -> dict[str, tuple[str, dict[str, Drawn]]]:
    """Key -> statement, and what it drew, of all streams."""
    return {
        key(name, stream, folder): (name, drawn(folder, trial, name, stream, listed))
        for stream in streams(trial)
        for name in order(folder, trial, stream)
    }


def streams(trial: Trial) -> range:
    return range(1, int(trial.levels["streams"]) + 1)


def job(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed, endpoint: Endpoint) -> Job:
    """All streams at once, each its statements once, or as often as they fill the window."""
    load = psql_streams.Streams(
        _written(folder, trial, dialect, listed),
        goes_on=True,
        keeps_answers=True,
        questions=asked.of_trial(folder, trial),
        window_s=window_s(trial.levels),
        orders=orders(folder, trial),
    )
    return psql_streams.job(load, endpoint)


def job_until(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed, endpoint: Endpoint) -> Job:
    """The same again and again, until another driver has ended."""
    return psql_until.job(_written(folder, trial, dialect, listed), endpoint)


def _written(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed) -> list[list[str]]:
    """Each statement begins with its name as a comment, by which waits are distinguished (``trial/waits.py``)."""
    named = folder.titles

    def written(name: str, stream: int) -> str:
        statement = text(folder, trial, name, stream, dialect, listed)
        if not sql_text.is_reading(statement):
            return f"/* {named[name]} */ {statement}"
        return f"COPY (/* {named[name]} */ {statement}) TO STDOUT"

    return [[written(name, stream) for name in order(folder, trial, stream)] for stream in streams(trial)]


def read_until(folder: Folder, output: Path, trial: Trial, window: tuple[float, float]) -> Reading:
    """What was begun and had ended within the ``window`` of the driver beside it, in epoch seconds."""
    planned = {stream: order(folder, trial, stream) for stream in streams(trial)}
    done = psql_until.read(output, {stream: len(names) for stream, names in planned.items()})
    inside = [one for one in done if one.start_s >= window[0] and one.end_s <= window[1]]
    times: dict[str, list[float]] = {}
    for one in (one for one in inside if not one.error):
        names = planned[one.stream]
        times.setdefault(names[(one.number - 1) % len(names)], []).append(one.end_s - one.start_s)
    ended = [seconds for found in times.values() for seconds in found]
    errors = [one.error for one in done if one.error]
    length_s = window[1] - window[0]
    measured = {"statements_per_hour": 3600 * len(ended) / length_s} if length_s > 0 else {}
    if ended:
        measured |= {"statement_time_s_mean": sum(ended) / len(ended), "statement_time_s_max": max(ended)}
    cpu = pgbench.driver_cpu(pgbench.text(output / "driver_cpu.txt"))
    measured |= {} if cpu is None else {"driver_cpu_share": cpu}
    return Reading(
        measured | {f"{name}_s": sum(found) / len(found) for name, found in times.items()},
        errors=len(errors),
        samples=len(ended),
        window_start_s=window[0],
        window_end_s=window[1],
        invalid=() if ended else ("none of its statements was begun and ended within the window; make it longer",),
        details={"statements_ended": {name: len(found) for name, found in times.items()}, "driver_errors": errors[:3]},
    )


def read(folder: Folder, output: Path, trial: Trial) -> tuple[Reading, dict[str, list[str]]]:
    """Measurements; and by key the answers that were given to it, each as COPY writes it, of one stream or several."""
    planned = {stream: order(folder, trial, stream) for stream in streams(trial)}
    reading, timed = psql_streams.read(output, sum(map(len, planned.values())), orders(folder, trial))
    means = {f"{name}_s": mean for name, mean in stream_readings.means(planned, timed).items()}
    kept = psql_streams.kept_answers(output)
    answered: dict[str, list[str]] = {}
    for one in timed:
        if not one.error and (lines := kept.get((one.stream, one.number, one.round))) is not None:
            name = planned[one.stream][one.number - 1]
            answered.setdefault(key(name, one.stream, folder), []).append("".join(f"{line}\n" for line in lines))
    found = replace(
        reading,
        measurements=reading.measurements | (means if reading.measurements else {}),
        timed_out=stream_readings.past_their_limit(planned, timed, "statement"),
        details=dict(reading.details) | {"statements": stream_readings.each(planned, timed, "statement")},
    )
    return found, answered
