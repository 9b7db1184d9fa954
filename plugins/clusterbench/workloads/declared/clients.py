"""A declared workload that many clients drive at once: pgbench, each statement's file a script, drawn by its weight."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast
from zlib import crc32

from clusterbench.base.driver_session import session
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.base.plans import Prepared
from clusterbench.base.sql import Value, raw
from clusterbench.drivers import mix_readings, pgbench, pgbench_log
from clusterbench.drivers.mix_readings import Scripts
from clusterbench.workloads import Share
from clusterbench.workloads.declared import asked, parameters, sql_text
from clusterbench.workloads.declared.folder import Folder
from clusterbench.workloads.declared.model import quantity
from clusterbench.workloads.declared.parameters import VARIABLE, Drawn, Listed, Script

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.base.sql import Dialect
    from clusterbench.engines import Endpoint

MAX_TRIES = 1000
"""Of a transaction that meets serialisation failures: one that needs more is an error."""
EXECUTIONS = 6
"""The server plans five for their values; after them it takes one plan for all values, if that is no dearer."""
ANSWERS_PER_STATEMENT = 3
"""Of each statement that reads, so many are asked again after the window, with what a first stream would draw."""

FACTORS: Mapping[str, Factor] = {
    **pgbench.MIX_FACTORS,
    "think_time_ms": Factor(
        0,
        "The milliseconds that a client waits after each transaction. They are part of no latency.",
        maximum=3_600_000,
        wording="{} ms think time",
    ),
    "protocol": Factor(
        "prepared",
        "`prepared`: each statement is prepared once a session. `extended`: it is parsed each time. `simple`:"
        " it is sent as a text.",
        choices=("prepared", "extended", "simple"),
        wording="{} protocol",
    ),
    "cache": Factor(
        "ramped_up",
        "The state of the caches at the start. With `ramped_up` they stay as they are, and the ramp-up fills them.",
        choices=("ramped_up", "warm", "cold"),
    ),
}


def factors(folder: Folder) -> dict[str, Factor]:
    mixes = tuple(folder.said.mixes)
    of_mix = (
        {
            "mix": Factor(
                mixes[0], "Which statements run, and how often each. The workload's `mixes` define it.", choices=mixes
            )
        }
        if mixes
        else {}
    )
    return {**of_mix, **FACTORS}


def measurements(folder: Folder) -> dict[str, MeasurementKind]:
    total = sum(statement.weight for statement in folder.said.statements.values())
    shares = {name: statement.weight / total for name, statement in folder.said.statements.items()}
    found = mix_readings.kinds(folder.titles, shares, "all statements")
    if not folder.said.mixes:
        return found
    return {name: replace(kind, statement="") for name, kind in found.items()}  # shares differ from mix to mix


def weights(folder: Folder, levels: Mapping[str, Level]) -> dict[str, int]:
    """Of the mix that is chosen; without mixes, of all statements."""
    if folder.said.mixes:
        return dict(folder.said.mixes[str(levels["mix"])])
    return {name: statement.weight for name, statement in folder.said.statements.items()}


def estimate_s(levels: Mapping[str, Level]) -> float:
    return 10 + int(levels["ramp_up_s"]) + int(levels["window_s"]) + (15 if levels["cache"] != "ramped_up" else 0)


def scripts(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed) -> dict[str, Script]:
    """By statement, in the order in which the log counts them: its lines are the whole script."""
    found = {}
    think_us = int(trial.levels["think_time_ms"]) * 1000
    for name in weights(folder, trial.levels):
        drawn = parameters.script(folder.parameters_of(name), trial.levels, listed, trial.seed)
        values: dict[str, Value] = {key: raw(text) for key, text in drawn.sql.items()}
        texts = folder.statements(name, dialect, {**placeholders(folder, trial.levels), **values})
        called = folder.titles[name].replace(":", "")  # of which pgbench would make variables
        drawn.statements = tuple(text if sql_text.is_framing(text) else f"/* {called} */ {text}" for text in texts)
        drawn.lines += [f"{text};" for text in drawn.statements]
        drawn.lines += [f"\\sleep {think_us} us"] if think_us else []
        found[name] = drawn
    return found


def placeholders(folder: Folder, levels: Mapping[str, Level]) -> dict[str, Value]:
    """What a statement's ``$factor`` stands for: a number as it is, a word as a text."""
    return {
        name: levels[name] if factor.choices else raw(str(levels[name]))  # type: ignore[misc]
        for name, factor in folder.said.factors.items()
        if not factor.setting
    }


def job(  # noqa: PLR0917  all of it tells what the driver does
    folder: Folder, trial: Trial, dialect: Dialect, listed: Listed, endpoint: Endpoint, share: Share
) -> Job:
    """Of one driver; the first asks the database at the end."""
    made = scripts(folder, trial, dialect, listed)
    clients, rate_per_s = share.clients, share.of_rate(float(trial.levels["rate_per_s"]))
    asks = asked.of_trial(folder, trial) | _again(folder, trial, dialect, listed) if share.number == 0 else {}
    variables = {name: value for script in made.values() for name, value in script.variables.items()}
    load = pgbench.Mix(
        scripts={name: "\n".join([*script.lines, ""]) for name, script in made.items()},
        weights=weights(folder, trial.levels),
        clients=clients,
        ramp_up_s=int(trial.levels["ramp_up_s"]),
        window_s=int(trial.levels["window_s"]),
        rate_per_s=rate_per_s,
        max_tries=MAX_TRIES,
        protocol=cast(pgbench.Protocol, trial.levels["protocol"]),
        seed=trial.seed + share.number + crc32(f"{trial.id}:{clients}:{rate_per_s:g}".encode()),
        variables={"clients": share.of_clients, "first_client": share.first_client, **variables},
        start_s=share.start_s,
        ahead_us=share.ahead_us,
        thread_each=trial.levels["protocol"] == "prepared" and any(len(one.statements) > 1 for one in made.values()),
        think_time_us=int(trial.levels["think_time_ms"]) * 1000,
        after=asks,
    )
    return pgbench.mix_job(load, endpoint)


def _again(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed) -> dict[str, str]:
    """Statements whose answers are checked, after the window."""
    texts = checked(folder, trial, dialect, listed)
    return {f"answer_{key}": f"COPY ({text}) TO STDOUT;\n" for key, text in texts.items()}


def checked(folder: Folder, trial: Trial, dialect: Dialect | str, listed: Listed) -> dict[str, str]:
    """Key -> statement, of those that read: their answers stand for all."""
    if folder.said.answers == "none" or not folder.is_reading:
        return {}
    found: dict[str, str] = {}
    for name in weights(folder, trial.levels):
        for number in range(1, ANSWERS_PER_STATEMENT + 1):
            text = first_reading(folder, name, trial, dialect, listed, number)
            found |= {f"{name}.{number}": text} if text else {}
    return found


def first_reading(  # noqa: PLR0917  all of it tells what a statement is
    folder: Folder, name: str, trial: Trial, dialect: Dialect | str, listed: Listed, number: int
) -> str | None:
    """The first of the statement's own that is no BEGIN, with literals drawn for the stream ``number``."""
    drawn = parameters.composed_as(_drawn(folder, name, trial, listed, number), folder.parameters_of(name), listed)
    texts = folder.statements(name, dialect, {**placeholders(folder, trial.levels), **drawn})
    return next((" ".join(text.split("\n")) for text in texts if not sql_text.is_framing(text)), None)


def prepared(folder: Folder, trial: Trial, dialect: Dialect, listed: Listed) -> dict[str, Prepared]:
    """By statement its first that is no BEGIN, as clients prepare it, with what some executions draw."""
    found = {}
    for name, made in scripts(folder, trial, dialect, listed).items():
        for text in [text for text in made.statements if not sql_text.is_framing(text)][:1]:
            random = Random(f"{trial.seed} {name}")  # noqa: S311  to be repeated, not a secret
            variables = list(dict.fromkeys(VARIABLE.findall(text)))
            bounds = [made.bounds.get(variable, (1, 1)) for variable in variables]
            executions = [[random.randint(*each) for each in bounds] for _ in range(EXECUTIONS)]
            found[name] = Prepared(VARIABLE.sub(partial(_numbered, variables), text), executions)
    return found


def _numbered(variables: Sequence[str], match: re.Match[str]) -> str:
    return f"${variables.index(match[1]) + 1}"


def asked_with(folder: Folder, trial: Trial, listed: Listed) -> dict[str, tuple[str, dict[str, Drawn]]]:
    """Key -> statement, and what it drew, as ``checked`` has them."""
    if not folder.is_reading:
        return {}
    return {
        f"{name}.{number}": (name, _drawn(folder, name, trial, listed, number))
        for name in weights(folder, trial.levels)
        for number in range(1, ANSWERS_PER_STATEMENT + 1)
    }


def _drawn(folder: Folder, name: str, trial: Trial, listed: Listed, number: int) -> dict[str, Drawn]:
    """Keys that clients count on from are the next, and the newest the last that there was."""
    random = Random(f"{trial.seed} {name} {number}")  # noqa: S311  to be repeated, not a secret
    known = folder.parameters_of(name)
    fixed = {key: one for key, one in known.items() if one.next_after is None and one.newest_of is None}
    counted: dict[str, Drawn] = {}
    for key, one in known.items():
        if one.next_after is not None:
            counted[key] = quantity(one.next_after, trial.levels) + 1
        elif one.newest_of is not None:
            counted[key] = quantity(known[one.newest_of].next_after or 1, trial.levels)
    return {**counted, **parameters.draw(fixed, random, trial.levels, listed)}


def read(folder: Folder, output: Path, trial: Trial) -> tuple[Reading, dict[str, str]]:
    """Measurements; and by key what was answered after the window, as COPY writes it."""
    said: dict[str, object] = {
        "driver_said": pgbench.text(output / "driver.txt"),
        "session": session(output),
        "driver_errors": _with_names(pgbench.text(output / "driver_errors.txt")[-2000:], folder, trial),
    }
    log = pgbench_log.read_all(output)
    if log is None:
        return Reading({}, errors=1, details=said), {}
    clients = int(trial.levels["clients"])
    drawn = weights(folder, trial.levels)
    of = Scripts({name: folder.titles[name] for name in drawn}, {name: number for number, name in enumerate(drawn)})
    cpu = pgbench.driver_cpu_of_all(output)
    measured = {**mix_readings.measurements(log, of, float(trial.levels["rate_per_s"])), "clients_used": float(clients)}
    reading = Reading(
        measured | ({} if cpu is None else {"driver_cpu_share": cpu}),
        errors=log.failed_before_end(),
        samples=sum(of.throughput(log)),
        window_start_s=float(log.window.start),
        window_end_s=float(log.window.stop),
        invalid=tuple(_too_few(log, of)),
        details=said | mix_readings.details(log, of, clients=clients) | _warnings(log, of),
    )
    answered = {
        file.name.removeprefix("after.answer_").removesuffix(".csv"): file.read_text()
        for file in output.glob("after.answer_*.csv")
    }
    return reading, answered


def _with_names(said: str, folder: Folder, trial: Trial) -> str:
    """What pgbench says of "script 6", with the statement's name: it counts from 0."""
    names = list(weights(folder, trial.levels))

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"{match[0]} ({names[number]})" if number < len(names) else match[0]

    return re.sub(r"\bscript (\d+)", named, said)


def _warnings(log: pgbench_log.ReducedLog, of: Scripts) -> dict[str, list[str]]:
    """Of statements of which nothing is known then."""
    return {"warnings": none} if (none := mix_readings.too_few(log, of)) else {}


def _too_few(log: pgbench_log.ReducedLog, of: Scripts) -> list[str]:
    """A rare statement may not have ended in a short window; none at all says nothing."""
    return [] if sum(of.throughput(log)) else mix_readings.too_few(log, of)
