"""How often a server that really became slower is found: runs on one whose commits wait longer than those of another.

``python -m clusterbench_lab.bench.slower_server 12``, with the lab up, makes so many rounds of three runs of a small
part of ``order_entry``, in random order: commits wait for 5 ms, for 5 % more, and for 10 % more. All pairs, and groups
of three, are judged as ``clusterbench compare`` would judge them. A round takes three minutes. A server that waits is
as fast as it was a minute ago; this machine's processors are not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations, product

import numpy as np
from psycopg.rows import tuple_row

from clusterbench.base import postgres_session
from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import Connection, local_connections
from clusterbench.base.paths import lab_dir
from clusterbench.results.between_runs import HISTORY_MIN
from clusterbench.results.compare import OneRun, compare
from clusterbench.results.gather import read_run
from clusterbench_lab.bench.same_runs import Known, Pair, at_once, is_told, judged, known, make, medians, threes
from clusterbench_lab.bench.tables import head, row

EXPERIMENT, PLATFORM_DATABASE = "order_entry", "lab_native_postgres"
COMMIT_DELAY_US = (5000, 5250, 5500)
"""What a commit waits for: the first is the server as it was."""
NOTED = "slower_server.json"
"""In the lab's folder: the runs that were made, by what commits waited for."""
Told = Mapping[tuple[str, str], list[bool]]
"""Cell and measurement -> of each pair whether it was told as different."""


@contextmanager
def waiting(database: Connection, delay_us: int) -> Iterator[None]:
    """The whole server, as its operator would set it; as it was afterwards."""
    settings = {"commit_delay": delay_us, "commit_siblings": 0}

    def let(*statements: str) -> None:
        with postgres_session.connect(database, database.schema, tuple_row) as session:
            for statement in (*statements, "SELECT pg_reload_conf()"):
                session.execute(statement.encode())

    let(*(f"ALTER SYSTEM SET {name} = {value}" for name, value in settings.items()))
    try:
        yield
    finally:
        let(*(f"ALTER SYSTEM RESET {name}" for name in settings))


def tables(
    runs: Mapping[int, Sequence[OneRun]],
) -> Iterator[tuple[int, Mapping[tuple[str, str], float], dict[str, Told]]]:
    """By what commits waited for: how many times the first server's value the cells really have, and what was told."""
    equal = runs[COMMIT_DELAY_US[0]]
    for delay_us, others in runs.items():
        same = others is equal
        pairs: list[Pair] = [([a], [b]) for a, b in (combinations(equal, 2) if same else product(equal, others))]
        groups = list(combinations(threes(equal), 2) if same else product(threes(equal), threes(others)))
        yield (
            delay_us,
            _times(equal, others),
            {
                "two runs": _told(pairs, lambda *_: {}),
                f"two runs, {HISTORY_MIN} others known": _told(pairs, known(equal, HISTORY_MIN)),
                "three and three": _told(groups, lambda *_: {}),
            },
        )


def _times(equal: Sequence[OneRun], others: Sequence[OneRun]) -> dict[tuple[str, str], float]:
    """Of the medians over all runs of either."""
    a, b = (medians(runs, lambda result: result.label) for runs in (equal, others))
    return {cell: float(np.median(b[cell]) / np.median(a[cell])) for cell in a if cell in b}


def _told(pairs: Sequence[Pair], known: Known) -> Told:
    """All cells that are looked at are judged at once, as a comparison prints them."""
    found: dict[tuple[str, str], list[bool]] = {}
    for a, b in pairs:
        for cell in judged(at_once(compare(a, b, histories=known(a, b)))):
            found.setdefault((cell.label, cell.measurement), []).append(is_told(cell))
    return found


def main(rounds: int) -> None:
    folder = lab_dir()
    connections = local_connections(folder)
    noted = folder / NOTED
    made: dict[str, list[str]] = json.loads(noted.read_text()) if noted.exists() else {}
    chance = np.random.default_rng()
    for number in range(1, rounds + 1):
        for delay_us in map(int, chance.permutation(COMMIT_DELAY_US)):
            with waiting(connections(PLATFORM_DATABASE), delay_us):
                made.setdefault(str(delay_us), []).append(make(connections, EXPERIMENT))
            noted.write_text(json.dumps(made, indent=1))
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    _print(Store.of(connections(CONNECTION_ID)), made)


def _print(store: Store, made: Mapping[str, Sequence[str]]) -> None:
    runs = {
        delay_us: [read_run(RunArchive(store, EXPERIMENT, run_id)) for run_id in made[str(delay_us)]]
        for delay_us in COMMIT_DELAY_US
    }
    ways = ("two runs", f"two runs, {HISTORY_MIN} others known", "three and three")
    head("commits wait for", "cell", "measurement", "really", *(f"told: {way}" for way in ways))
    for delay_us, times, told in tables(runs):
        for cell, measurement in told[ways[0]]:
            shares = [f"{100 * np.mean(told[way][cell, measurement]):.0f} %" for way in ways]
            really = f"{100 * (times[cell, measurement] - 1):+.1f} %"
            row(f"{delay_us / 1000:g} ms", cell, measurement, really, *shares)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
