"""How long things took on a platform, by the archive: a few of the newest valid runs of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from clusterbench.base.archive import MANIFEST, RunArchive, Store, runs_in
from clusterbench.base.records import TrialRecord
from clusterbench.base.run_ids import asked_at
from clusterbench.trial.measured import Measured, MeasuredCell, Rate
from clusterbench.trial.rehearsal import divisor

RUNS_ASKED, RUNS_READ = 20, 3
"""Of the newest runs so many are asked whether they are valid and of the platform, and so many of those are read."""


def read_measured(store: Store, experiment: str, platform: str, before: str | None = None) -> Measured:
    """``before``: a run id; only older runs are read, as if nobody knew of it."""
    runs = [run for run in runs_in(store, experiment) if before is None or _is_older(run.run_id, before)]
    chosen: list[RunArchive] = []
    for run in runs[:RUNS_ASKED]:
        if len(chosen) < RUNS_READ and _is_of(run, platform):
            chosen.append(run)
    cells: list[MeasuredCell] = []
    for run in chosen:
        cells += cells_of(run, platform)
    facts = chosen[0].get_json(f"platforms/{platform}/facts.json") if chosen else None
    return Measured(
        runs=tuple(run.name for run in chosen),
        cells=tuple(cells),
        generated=_rates(chosen, f"platforms/{platform}/generated.json", "datasets"),
        inspected=_rates(chosen, f"platforms/{platform}/data.json", "inspected"),
        facts=facts or {},
    )


def _is_older(run_id: str, than: str) -> bool:
    """A run whose id tells no time is older than none."""
    one, other = asked_at(run_id), asked_at(than)
    return one is not None and other is not None and one < other


def _is_of(run: RunArchive, platform: str) -> bool:
    opened = run.get_json("run.json") or {}
    choices = opened.get("choices") or {}
    if platform not in (choices.get("platforms") or ()) or divisor(choices) > 1:  # a rehearsal has other sizes
        return False
    return bool((run.get_json(MANIFEST) or {}).get("valid"))


def cells_of(run: RunArchive, platform: str) -> list[MeasuredCell]:
    """Of every cell with a completed trial, whatever became of the run."""
    plan, facts = run.get_json("plan.json") or {}, run.get_json(f"platforms/{platform}/facts.json") or {}
    planned = [(platform, str(trial["id"])) for trial in (plan.get("trials") or {}).get(platform, [])]
    records = [record for record in run.records(planned) if record]
    return measured_cells(run.name, records, _one_of_each_kernel(facts.get("hosts") or {}))


def _one_of_each_kernel(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Several hosts of the lab are one machine, whose disks are to be counted once."""
    return list({str(said.get("boot_id", host)): host for host, said in hosts.items()}.values())


def measured_cells(run: str, records: Sequence[TrialRecord], hosts: Collection[str]) -> list[MeasuredCell]:
    """Pure. What lies between two trials, such as Airflow's own time, is the same for all: its median.

    ``hosts``: those whose disks are counted.
    """
    between_s = _between_s(records)
    by_cell: dict[str, list[TrialRecord]] = {}
    for record in records:
        if record.outcome == "completed" and record.phases_s.get("driver"):
            by_cell.setdefault(record.trial.cell, []).append(record)
    return [_cell(run, found, between_s, hosts) for found in by_cell.values()]


def _cell(run: str, records: Sequence[TrialRecord], between_s: float, hosts: Collection[str]) -> MeasuredCell:
    first = records[0].trial
    return MeasuredCell(
        run=run,
        cell=first.cell,
        label=first.cell_label,
        workload=first.workload,
        levels=first.levels,
        trials=len(records),
        whole_s=median(sum(record.phases_s.values()) for record in records) + between_s,
        driver_s=median(record.phases_s["driver"] for record in records),
        read_bytes=_disk_bytes(records, hosts, "disk_read_mb_per_s"),
        written_bytes=_disk_bytes(records, hosts, "disk_write_mb_per_s"),
    )


def _between_s(records: Sequence[TrialRecord]) -> float:
    """From the end of a trial's last phase to the beginning of the next trial; 0 where there are fewer than two."""
    ordered = sorted((r for r in records if r.phases_s and r.started_at), key=lambda record: record.started_at)
    gaps = [
        (_moment(after) - _moment(one)) - sum(one.phases_s.values())
        for one, after in pairwise(ordered)
        if _moment(after) > _moment(one)
    ]
    return max(0.0, median(gaps)) if gaps else 0.0


def _moment(record: TrialRecord) -> float:
    return datetime.fromisoformat(record.started_at).timestamp()


def _disk_bytes(records: Iterable[TrialRecord], hosts: Collection[str], rate: str) -> int | None:
    """Within the measured window, from the disks of these hosts, where telemetry has them."""
    found = []
    for record in records:
        if record.window_start_s is None or record.window_end_s is None:
            continue
        means = [(record.telemetry.get(host) or {}).get("mean") or {} for host in hosts]
        rates = [float(mean[rate]) for mean in means if rate in mean]
        if rates:
            found.append(sum(rates) * 1e6 * (record.window_end_s - record.window_start_s))
    return int(median(found)) if found else None


def _rates(runs: Iterable[RunArchive], key: str, name: str) -> tuple[Rate, ...]:
    """Of the runs that have any; those made before it was archived have none."""
    found = []
    for run in runs:
        rows = [row for row in (run.get_json(key) or {}).get(name) or [] if row["bytes"] and row["seconds"]]
        if rows:
            made = sum(int(row["bytes"]) for row in rows), sum(float(row["seconds"]) for row in rows)
            found.append(Rate(run.name, *made))
    return tuple(found)
