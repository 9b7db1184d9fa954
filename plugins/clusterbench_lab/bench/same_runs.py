"""How often equal runs are called different, and slower ones found: on real runs of the lab, not on made-up ones.

``python -m clusterbench_lab.bench.same_runs 30`` makes so many runs of a small part of each study, one after the
other, beside those that it made before, and judges all pairs and groups of them as ``clusterbench compare`` would. A
round takes some minutes. A slowdown is planted by multiplying the values of real runs, so that the noise is real, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, TypeVar

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import Connections, local_connections
from clusterbench.base.paths import lab_dir
from clusterbench.results.between_runs import HISTORY_MAX, HISTORY_MIN, spread_of
from clusterbench.results.compare import Comparison, OneRun, compare
from clusterbench.results.compare_cells import ComparedCell, Histories, cell_key
from clusterbench.results.gather import read_run
from clusterbench.results.judgement import NOTHING_SHOWN
from clusterbench.results.statistics import Result, Summary
from clusterbench.run import steps
from clusterbench.run.run import Run

PARTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "key_value": ("lab_db1", {"scale": "smoke", "sweeps": ["statement"], "repetitions": 3}),
    "order_entry": ("lab_native", {"scale": "smoke", "sweeps": ["clients"], "repetitions": 3}),
    "retail": ("lab_db1", {"scale": "smoke", "sweeps": ["partial_scan"], "repetitions": 3}),
}
"""Experiment -> platform and choices."""
JUDGED = ("throughput_per_s", "latency_ms_p50", "latency_ms_p99", "response_time_s")
PLANTED = (1.0, 1.05, 1.1)
NOTED = "same_runs.json"
"""In the lab's folder: the runs that were made, by experiment."""
T = TypeVar("T")
Pair = tuple[Sequence[OneRun], Sequence[OneRun]]
Known = Callable[[Sequence[OneRun], Sequence[OneRun]], Histories]


def make(connections: Connections, experiment: str) -> str:
    """A whole run of the part, by its steps, but for its report; returns its id."""
    platform, choices = PARTS[experiment]
    run = Run(experiment, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-aa0000", connections)
    steps.open_run(run, {**choices, "platforms": [platform]}, {"by": "same_runs"})
    steps.take_cluster(run, platform)
    try:
        steps.set_up_cluster(run, platform)
        steps.flush_caches(run, platform)
        steps.generate_data(run, platform)
        for trial in steps.validate_data(run, platform):
            steps.measure(run, platform, trial.id)
    finally:
        steps.release_cluster(run, platform)
    steps.summarise(run)
    steps.validate_results(run)
    steps.seal(run)
    steps.load_history(run)
    return run.run_id


def tables(runs: Sequence[OneRun]) -> Iterator[tuple[str, dict[float, tuple[int, int, int]]]]:
    """By how it is judged, and by what B was made slower: cells, those told as different alone, and all at once."""
    pairs: list[Pair] = [([a], [b]) for a, b in combinations(runs, 2)]
    yield "two runs, by their repetitions", _told(pairs, lambda *_: {})
    for earlier in (HISTORY_MIN, 10, HISTORY_MAX):
        if len(runs) >= earlier + 2:
            yield f"two runs, {earlier} others known", _told(pairs, known(runs, earlier))
    yield "three and three runs", _told(list(combinations(threes(runs), 2)), lambda *_: {})


def threes(runs: Sequence[OneRun]) -> list[Sequence[OneRun]]:
    return [runs[first : first + 3] for first in range(0, len(runs) - 2, 3)]


def known(runs: Sequence[OneRun], earlier: int) -> Known:
    """The series' newest runs, but for those that are compared."""

    def histories(a: Sequence[OneRun], b: Sequence[OneRun]) -> Histories:
        others = [run for run in runs if run not in (*a, *b)][-earlier:]
        found = medians(others, lambda result: (result.platform, cell_key(result.sweep, result.levels)))
        return {(*cell, name): spread for (cell, name), values in found.items() if (spread := spread_of(values))}

    return histories


def medians(runs: Sequence[OneRun], of: Callable[[Result], T]) -> dict[tuple[T, str], list[float]]:
    """Of each run one, by what the result is called and the measurement."""
    found: dict[tuple[T, str], list[float]] = {}
    for result in (result for run in runs for result in run.results):
        for name, summary in result.measurements.items():
            found.setdefault((of(result), name), []).append(summary.median)
    return found


def _told(pairs: Sequence[Pair], known: Known) -> dict[float, tuple[int, int, int]]:
    found = {}
    for times in PLANTED:
        counts = [_count(a, [slower(run, times) for run in b], known(a, b)) for a, b in pairs]
        cells, alone, at_once = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0, 0)
        found[times] = (cells, alone, at_once)
    return found


def _count(a: Sequence[OneRun], b: Sequence[OneRun], histories: Histories) -> tuple[int, int, int]:
    compared = compare(a, b, histories=histories)
    cells, together = list(judged(compared)), list(judged(at_once(compared)))
    return len(cells), sum(map(is_told, cells)), sum(map(is_told, together))


def at_once(compared: Comparison) -> Comparison:
    """As a comparison prints its results: those that are looked at are judged together."""
    return compared.at_once(_is_judged)


def judged(compared: Comparison) -> Iterator[ComparedCell]:
    cells = (cell for pair in compared.pairs for cell in pair.cells)
    return (cell for cell in cells if _is_judged(cell) and cell.judgement.word != "not comparable")


def _is_judged(cell: ComparedCell) -> bool:
    return cell.measurement in JUDGED


def is_told(cell: ComparedCell) -> bool:
    return cell.judgement.word not in NOTHING_SHOWN


def slower(run: OneRun, times: float) -> OneRun:
    """The same with every value so many times as large; the name stays."""
    return run if times == 1 else replace(run, results=[_of_result(result, times) for result in run.results])


def _of_result(result: Result, times: float) -> Result:
    measured = {name: _of_summary(summary, times) for name, summary in result.measurements.items()}
    return replace(result, measurements=measured)


def _of_summary(summary: Summary, times: float) -> Summary:
    return replace(summary, median=summary.median * times, values=[value * times for value in summary.values])


def main(rounds: int) -> None:
    folder = lab_dir()
    connections = local_connections(folder)
    noted = folder / NOTED
    made: dict[str, list[str]] = json.loads(noted.read_text()) if noted.exists() else {}
    for number in range(1, rounds + 1):
        for experiment in PARTS:
            made.setdefault(experiment, []).append(make(connections, experiment))
            noted.write_text(json.dumps(made, indent=1))
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    _print(Store.of(connections(CONNECTION_ID)), made)


def _print(store: Store, made: Mapping[str, Sequence[str]]) -> None:
    for experiment, run_ids in made.items():
        runs = [read_run(RunArchive(store, experiment, run_id)) for run_id in run_ids]
        print(f"\n{experiment}, {len(runs)} runs: % told as different alone / of all at once\n")
        print(f"| judged by | cells | {' | '.join('equal' if t == 1 else f'{t:g} times' for t in PLANTED)} |")
        print(f"|---|---|{'---|' * len(PLANTED)}")
        for how, told in tables(runs):
            shares = [
                f"{100 * alone / (n or 1):.1f} / {100 * at_once / (n or 1):.1f}" for n, alone, at_once in told.values()
            ]
            print(f"| {how} | {told[1.0][0]} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
