"""pgbench: the driver of small statements, the clock on the client host. The command, and how its output reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clusterbench.base.driver_session import session
from clusterbench.base.factors import Factor
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import NO_CLOCK, About, MeasurementKind, Reading
from clusterbench.base.scripts import script
from clusterbench.drivers import pgbench_log

if TYPE_CHECKING:
    from clusterbench.engines import Endpoint

OUTPUTS = (
    "driver.txt",
    "driver_errors.txt",
    "driver_cpu.txt",
    "answers.txt",
    "late.txt",
    "clock.txt",
    "session.txt",
    *pgbench_log.OUTPUTS,
)

DRIVER_CPU = About(
    "Processor time of the driver, divided by the elapsed time and by its threads. Near 1 the driver is what was "
    "measured. Of several drivers it is the busiest one's.",
    leaves_out="the processor time of connecting, where a trial measures that",
)
_LATENCY = "From the begin of a transaction to its end, as pgbench's log has it"
_LATENCY_LESS = "connecting, the wait for its turn in an open loop, and think time"
MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "throughput_per_s": MeasurementKind(
        "1/s",
        "Throughput",
        "higher",
        about=About(
            "Transactions that ended, per second. With a fixed number of them: all, from the first begin to the last "
            "end. With a window: the sum over the clients, each over the time in which it worked.",
            leaves_out="transactions that failed",
        ),
    ),
    "latency_ms_mean": MeasurementKind(
        "ms",
        "Mean latency, connecting not included",
        about=About(f"{_LATENCY}: the mean over all transactions of the window.", leaves_out=_LATENCY_LESS),
    ),
    "latency_ms_p50": MeasurementKind(
        "ms",
        "Median latency",
        about=About(f"{_LATENCY}: half of the transactions took at most so long.", leaves_out=_LATENCY_LESS),
    ),
    "latency_ms_p95": MeasurementKind(
        "ms",
        "95th percentile of latency",
        about=About(f"{_LATENCY}: 95 % of the transactions took at most so long.", leaves_out=_LATENCY_LESS),
    ),
    "latency_ms_p99": MeasurementKind(
        "ms",
        "99th percentile of latency",
        about=About(f"{_LATENCY}: 99 % of the transactions took at most so long.", leaves_out=_LATENCY_LESS),
    ),
    "latency_ms_p999": MeasurementKind(
        "ms",
        "99.9th percentile of latency",
        about=About(f"{_LATENCY}: 99.9 % of the transactions took at most so long.", leaves_out=_LATENCY_LESS),
    ),
    "latency_ms_max": MeasurementKind(
        "ms", "Longest latency", about=About(f"{_LATENCY}: the longest of all.", leaves_out=_LATENCY_LESS)
    ),
    "response_time_s": MeasurementKind(
        "s",
        "Time for all transactions",
        about=About(
            "From the begin of the first transaction to the end of the last one, of a trial in which each client does "
            "a fixed number of them. A trial with a window has none.",
            leaves_out="starting pgbench and opening its connections",
        ),
    ),
    "transaction_ms_mean": MeasurementKind(
        "ms",
        "Mean time per transaction, connecting included",
        about=About(
            "Clients divided by throughput: how long a client needs for a transaction with all that is between two. If "
            "each transaction opens a connection of its own, opening is in it.",
        ),
    ),
    "connection_ms_mean": MeasurementKind(
        "ms",
        "Mean time to connect",
        about=About("How long it took to open a connection, as pgbench prints it: the mean over all of them."),
    ),
    "segment_transactions_per_transaction": MeasurementKind(
        "1",
        "Transactions on segments for each of ours",
        "lower",
        about=About(
            "Transactions that Greenplum's segments counted for each one of the driver. 1: each was sent to one "
            "segment alone. Absent of fewer than 1,000 transactions.",
            NO_CLOCK,
        ),
    ),
    "driver_cpu_share": MeasurementKind(
        "1", "Driver's own share of its threads' processor time", "neither", about=DRIVER_CPU
    ),
}

_RESPONSE = "From the time at which the schedule wanted a transaction to begin, to its end"
_RESPONSE_LESS = "transactions that had not begun when the window ended"
OPEN_LOOP: Mapping[str, MeasurementKind] = {
    "response_ms_mean": MeasurementKind(
        "ms", "Mean time from the scheduled start", about=About(f"{_RESPONSE}: the mean.", leaves_out=_RESPONSE_LESS)
    ),
    "response_ms_p50": MeasurementKind(
        "ms",
        "Median time from the scheduled start",
        about=About(f"{_RESPONSE}: half took at most so long.", leaves_out=_RESPONSE_LESS),
    ),
    "response_ms_p95": MeasurementKind(
        "ms",
        "95th percentile of the time from the scheduled start",
        about=About(f"{_RESPONSE}: 95 % took at most so long.", leaves_out=_RESPONSE_LESS),
    ),
    "response_ms_p99": MeasurementKind(
        "ms",
        "99th percentile of the time from the scheduled start",
        about=About(f"{_RESPONSE}: 99 % took at most so long.", leaves_out=_RESPONSE_LESS),
    ),
    "response_ms_p999": MeasurementKind(
        "ms",
        "99.9th percentile of the time from the scheduled start",
        about=About(f"{_RESPONSE}: 99.9 % took at most so long.", leaves_out=_RESPONSE_LESS),
    ),
    "response_ms_max": MeasurementKind(
        "ms",
        "Longest time from the scheduled start",
        about=About(f"{_RESPONSE}: the longest of all.", leaves_out=_RESPONSE_LESS),
    ),
    "schedule_lag_ms_mean": MeasurementKind(
        "ms",
        "Mean wait for its turn",
        about=About(
            "How much later than the schedule wanted a transaction began, because no client was free: the mean. It is "
            "the difference of response and latency.",
            leaves_out=_RESPONSE_LESS,
        ),
    ),
    "not_started": MeasurementKind(
        "1",
        "Transactions that were due at the end and had not begun",
        about=About(
            "How far behind its schedule the driver was at the end, as a number of transactions. If it is large, the "
            "rate is more than the database can do."
        ),
    ),
}
"""Of a load with a rate: transactions begin by a schedule, and not when a client happens to be free. What one had to
wait for its turn is part of its response, or a slow second would hide what it did to all that came in it."""

Protocol = Literal["simple", "extended", "prepared"]
_FAILED = re.compile(r"number of failed transactions: (\d+)")
_CONNECTING = re.compile(r"(?:initial|average) connection time = ([\d.]+) ms")
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
COUNTED_FROM_TRANSACTIONS = 1000


@dataclass(frozen=True)
class ScriptLoad:
    """What pgbench is to do: a script, by so many clients, each so many times; or for longer, see ``window_s``."""

    script: str
    clients: int
    transactions_per_client: int
    protocol: Protocol
    reconnect: bool
    seed: int
    variables: Mapping[str, int] = field(default_factory=dict)
    """Starting values of the script's variables, for every client."""
    rate_per_s: float = 0
    """Transactions begun in each second, by all clients together; 0: as fast as it goes."""
    window_s: int = 0
    """It continues for at least so many seconds, and until all clients together have done as many as planned. Then all
    end within one transaction of each other, so that none is left alone. 0: each client does so many, and ends."""
    answers: str = ""
    """Statements run once after the measured window, by psql, for the check of the answers."""
    start_s: float = 0
    """As ``Mix.start_s``."""
    ahead_us: int = 0
    """As ``Mix.ahead_us``."""


@dataclass(frozen=True)
class Mix:
    """What pgbench is to do for some time: scripts drawn by their weights, by so many clients."""

    scripts: Mapping[str, str]
    weights: Mapping[str, int]
    clients: int
    ramp_up_s: int
    window_s: int
    rate_per_s: float
    """Transactions begun in each second, by all clients together; 0: as fast as it goes."""
    max_tries: int
    """A transaction that met a serialisation failure or a deadlock is tried so often in all."""
    protocol: Protocol
    seed: int
    variables: Mapping[str, int] = field(default_factory=dict)
    thread_each: bool = False
    """A thread for each client, and not one for each processor.

    While one of a thread's clients prepares a statement, all of them wait: for ever, where it waits for a lock that
    another one holds until it has prepared its COMMIT.
    """
    think_time_us: int = 0
    """How long each script sleeps at its end, which is taken off its latency; how late pgbench wakes up is not."""
    start_s: float = 0
    """Epoch seconds on its host's clock at which it begins, where it is one of several drivers; 0: at once."""
    ahead_us: int = 0
    """By how much its host's clock is ahead of the client host's, whose time all results have."""
    before: Mapping[str, str] = field(default_factory=dict)
    """Name -> a statement that psql asks before pgbench begins; what it gives is in ``before.<name>.csv``."""
    after: Mapping[str, str] = field(default_factory=dict)
    """As ``before``, when pgbench has ended: ``after.<name>.csv``."""


MIX_OUTPUTS = (
    "driver.txt",
    "driver_errors.txt",
    "driver_cpu.txt",
    "clock.txt",
    "session.txt",
    "late.txt",
    "*.csv",
    *pgbench_log.OUTPUTS,
)
MIX_FACTORS: Mapping[str, Factor] = {
    "clients": Factor(
        1,
        "The clients that work at the same time.",
        minimum=1,
        maximum=10_000,
        wording="{} clients",
        is_concurrency=True,
    ),
    "ramp_up_s": Factor(
        10, "The seconds under load before the window.", maximum=86_400, rehearsed_least=20, wording="{} s ramp-up"
    ),
    "window_s": Factor(
        60, "The seconds that are measured.", minimum=1, maximum=86_400, rehearsed_least=20, wording="{} s measured"
    ),
    "rate_per_s": Factor(
        0,
        "Transactions that all clients together begin each second (docs/reference.md#open-loop). 0: as fast "
        "as possible.",
        maximum=10_000_000,
        wording="{} transactions/s",
    ),
}
"""What any mix can be asked for."""
BEYOND_WINDOW_S = 2
"""pgbench runs on so long, so that the window's last second is a whole one: it begins on a whole second, too."""
FOR_EVER_S = 10_000_000
"""Of a load that is ended when it has done enough."""
LINGER_S = 3
"""Of several drivers, none of which ends later than the first by more: what is asked at the end is asked after that."""
HUNG_S = 300
"""So long after its end pgbench may wait for its last transactions. A session may hang for good: where a segment of a
Greenplum without mirrors was killed, the coordinator waits for what is left of it, and no cancelling helps."""


def job(load: ScriptLoad, endpoint: Endpoint) -> Job:
    """The load as a job for the client host, which makes the log small. The password's file is gone when it ends."""
    options = ["--file=script.sql"]
    options += [f"--time={FOR_EVER_S}"] if load.window_s else [f"--transactions={load.transactions_per_client}"]
    options += ["--connect"] if load.reconnect else []
    options += [f"--rate={load.rate_per_s}"] if load.rate_per_s else []
    until = (load.window_s, load.clients * load.transactions_per_client) if load.window_s else (0, 0)
    functions = pgbench_log.functions(is_throttled=bool(load.rate_per_s), ahead_us=load.ahead_us)
    command = _drive(load, options, endpoint, until=until) + functions + script("drivers/pgbench_script")
    files = {"script.sql": load.script, "answers.sql": load.answers} | pgbench_log.files()
    return Job(files, endpoint.secrets, command)


def mix_job(mix: Mix, endpoint: Endpoint) -> Job:
    """The mix as a job for the client host, which makes the log small when pgbench has ended, also after a failure."""
    options = [f"--file={name}.sql@{mix.weights[name]}" for name in mix.scripts]
    time_s = mix.ramp_up_s + mix.window_s + BEYOND_WINDOW_S
    options += [f"--time={time_s}", f"--max-tries={mix.max_tries}"]
    options += ["--failures-detailed", *([f"--rate={mix.rate_per_s}"] if mix.rate_per_s else [])]
    command = (
        _drive(mix, options, endpoint, time_s + HUNG_S)
        + pgbench_log.functions(
            ramp_up_s=mix.ramp_up_s,
            window_s=mix.window_s,
            is_throttled=bool(mix.rate_per_s),
            is_retried=True,
            think_time_us=mix.think_time_us,
            begin_s=round(mix.start_s - mix.ahead_us / 1e6) + mix.ramp_up_s + 1 if mix.start_s else 0,
            ahead_us=mix.ahead_us,
        )
        + script(
            "drivers/pgbench_mix",
            before=list(mix.before),
            after=list(mix.after),
        )
    )
    files = {f"{name}.sql": text for name, text in mix.scripts.items()} | pgbench_log.files()
    for when, asked in (("before", mix.before), ("after", mix.after)):
        files |= {f"{when}.{name}.sql": text for name, text in asked.items()}
    return Job(files, endpoint.secrets, command)


def _drive(
    load: ScriptLoad | Mix,
    options: Sequence[str],
    endpoint: Endpoint,
    limit_s: int = 0,
    until: tuple[int, int] = (0, 0),
) -> str:
    """Bash with functions ``drive``, which runs pgbench when it is its time, and ``ask``, which runs psql."""
    shared = [f"--protocol={load.protocol}", f"--random-seed={load.seed}"]
    shared += [f"--define={name}={value}" for name, value in load.variables.items()]
    return script("drivers/programs") + script(
        "drivers/pgbench",
        where=endpoint.options,
        dbname=endpoint.dbname,
        clients=load.clients,
        options=[*options, *shared],
        limit_s=limit_s,
        thread_each=int(isinstance(load, Mix) and load.thread_each),
        start_s=f"{load.start_s:.6f}" if load.start_s else "0",
        linger_s=LINGER_S if load.start_s else 0,
        until_s=until[0],
        until_transactions=until[1],
    )


def read(output: Path, expected: int, *, is_fixed: bool = True, rate_per_s: float = 0) -> Reading:
    """Measurements from what is left of the log. ``expected`` transactions were asked for; fewer is an error.

    ``is_fixed``: each client had its number of them. Then the time for all is a measurement, too, and throughput is all
    of them over that time, with its begin and its end, when not all clients work. Else it is what all clients did, each
    over the time in which it worked, because they ended at once.
    """
    log = pgbench_log.read_all(output)
    latencies = log.latencies.get(0) if log else None
    samples = latencies.count if latencies else 0
    each_said = [text(folder / "driver.txt") for folder in (output, *pgbench_log.others(output))]
    failed = sum(int(found[1]) for said in each_said if (found := _FAILED.search(said)))
    errors = max(0, expected - samples, failed)
    details: dict[str, object] = {
        "driver_said": each_said[0],
        "session": session(output),
        "driver_errors": text(output / "driver_errors.txt")[-2000:],
    }
    if log is None or latencies is None:
        return Reading({}, errors=expected, details=details)
    window_s = (log.last_us - log.first_us) / 1e6  # subtracted as integers: as floats epoch seconds lose microseconds
    throughput = samples / window_s if window_s > 0 else 0.0
    if log.rate_per_s is not None and not is_fixed:
        throughput = log.rate_per_s
    measurements = {
        "throughput_per_s": throughput,
        "latency_ms_mean": latencies.mean_ms,
        **{f"latency_ms_{name}": latencies.quantile_ms(share) for name, share in QUANTILES.items()},
        "latency_ms_max": latencies.max_ms,
        **({"response_time_s": window_s} if is_fixed else {}),
        "transaction_ms_mean": log.clients * 1e3 / throughput if throughput else 0.0,
    }
    connecting = [float(found[1]) for said in each_said if (found := _CONNECTING.search(said))]
    if connecting:
        measurements["connection_ms_mean"] = sum(connecting) / len(connecting)
    measurements |= open_loop(log, rate_per_s)
    measurements |= work_per_transaction(output, samples)
    cpu = driver_cpu_of_all(output)
    if cpu is not None:
        measurements["driver_cpu_share"] = cpu
    return Reading(
        measurements,
        errors=errors,
        samples=samples,
        window_start_s=log.first_us / 1e6,
        window_end_s=log.last_us / 1e6,
        details=details,
    )


def open_loop(log: pgbench_log.ReducedLog, rate_per_s: float) -> dict[str, float]:
    """What a load with a rate did to those that had to wait; nothing of one without."""
    responses = pgbench_log.merged(log.responses.values())
    if not (rate_per_s and responses.count):
        return {}
    latencies = pgbench_log.merged(log.latencies.values())
    return {
        "response_ms_mean": responses.mean_ms,
        **{f"response_ms_{name}": responses.quantile_ms(share) for name, share in QUANTILES.items()},
        "response_ms_max": responses.max_ms,
        "schedule_lag_ms_mean": latencies.lag_mean_ms,
        "not_started": float(round(rate_per_s * log.behind_us / 1e6)),
    }


def work_per_transaction(output: Path, transactions: int) -> dict[str, float]:
    """What the engine counted before and after, per transaction; nothing where it counts nothing, or there are few.

    The check of the answers and reading the statistics count too, so with fewer than a thousand it would be a guess.
    """
    before, after = (json_of(output / name).get("counters") or {} for name in ("before.json", "after.json"))
    if transactions < COUNTED_FROM_TRANSACTIONS:
        return {}
    counted = [name for name in before if name in after and name.endswith("_transactions")]
    return {f"{name}_per_transaction": (after[name] - before[name]) / transactions for name in counted}


def driver_cpu(text: str) -> float | None:
    """Processor time of the driver over elapsed time times its threads: near 1 the driver is what was measured."""
    cores = driver_cores(text)
    threads = _driver_values(text).get("threads")
    return cores / threads if cores is not None and threads else None


def driver_cpu_of_all(output: Path) -> float | None:
    """Of several drivers that of the busiest: it is the one that may be what was measured."""
    found = (driver_cpu(text(folder / "driver_cpu.txt")) for folder in (output, *pgbench_log.others(output)))
    return max((one for one in found if one is not None), default=None)


def driver_cores(text: str) -> float | None:
    """Processor seconds of the driver per second, over all its processes, without those of connecting."""
    values = _driver_values(text)
    try:
        used_s = values["user_s"] + values["system_s"] - values.get("connecting_s", 0.0)
        return max(0.0, used_s) / values["elapsed_s"] if values["elapsed_s"] else None
    except KeyError:
        return None


def _driver_values(text: str) -> dict[str, float]:
    words = [line.split() for line in text.splitlines()]
    try:
        return {pair[0]: float(pair[1]) for pair in words if len(pair) == 2}
    except ValueError:
        return {}


def text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
