"""Neighbours of a platform: other databases that are under a trial's load while it is measured.

Each runs what the trial runs, as many streams of it, in rounds without end, from the host that drives the trial. That
costs processor time there, which is reported, apart from the measured driver's own. Neighbours are under load before
telemetry begins and until the driver ends. If one was not, the trial is invalid: that was another density. Statements
that fail are no load: a round of streams counts by the share of its statements that ended well.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import Reading
from clusterbench.base.records import Trial
from clusterbench.base.scripts import script
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.trial import undoing
from clusterbench.workloads import Workload

if TYPE_CHECKING:
    from clusterbench.engines import Engine
    from clusterbench.trial.testbed import Testbed

UNDER_LOAD_SHARE_MIN = 0.9
"""The share of the measured window for which a neighbour must be under load."""
RESTART_S = 1.0
"""A driver starts again between two rounds. A gap up to this long still counts as load; after a failed round the gap is
longer."""
LONGER_S = 600
"""A neighbour's load ends by itself this much later than the trial's driver may take, even if the worker is lost."""
FILE = "neighbours.json"


def start(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> None:
    """The trial's load on every neighbour, prepared as for the trial itself."""

    def one(name: str) -> None:
        engine = testbed.neighbours[name]
        engine.recover()
        workload.prepare(trial, engine)
        job.beside(name).start(rounds(workload.job(trial, engine)), trial.timeout_s + LONGER_S)

    in_parallel(one, testbed.neighbours)


def rounds(once: Job) -> Job:
    """A job that does ``once`` without end, each time in a folder of its own."""
    load = "set -euo pipefail\n" + once.command
    command = script("trial/rounds", files=[*once.files, *once.secrets])
    return Job({**once.files, "load.sh": load}, once.secrets, command)


def stop(testbed: Testbed, job: DetachedJob, output: Path) -> None:
    """After the driver has ended: note how every neighbour is, and end its load."""
    told = in_parallel(lambda name: _told(job.beside(name)), testbed.neighbours)
    found = dict(zip(testbed.neighbours, told, strict=True))
    if found:
        (output / FILE).write_text(json.dumps(found))
    undoing.each_done(endings(testbed, job), "a neighbour's load")


def _told(beside: DetachedJob) -> dict[str, str]:
    """What a neighbour's job has written, by file name.

    ``was`` is its phase when it was asked first, before it was ended.
    """
    was = beside.state().phase
    if was == "running":
        note = script("drivers/statements_told") + script("trial/note_running", directory=beside.directory)
        beside.fleet.run_on(beside.host, note)
    with tempfile.TemporaryDirectory() as folder:
        if was != "new":
            beside.collect(("was", "rounds", "unended", "started_at", "error", "cpu_s"), Path(folder))
        return {"was": was} | {path.name: path.read_text(errors="replace").strip() for path in Path(folder).iterdir()}


def endings(testbed: Testbed, job: DetachedJob) -> list[Callable[[], None]]:
    """A call for each neighbour that ends its load. It does no harm where the load has ended."""
    return [partial(_end, job.beside(name), engine) for name, engine in testbed.neighbours.items()]


def _end(beside: DetachedJob, engine: Engine) -> None:
    beside.kill()
    engine.end_driver()


def restoring(trial: Trial, workload: Workload, testbed: Testbed) -> list[Callable[[], None]]:
    """A call for each neighbour that undoes what was set on it for the trial. Its load has ended before."""
    return [partial(workload.restore, trial, engine) for engine in testbed.neighbours.values()]


@dataclass(frozen=True)
class Round:
    start_s: float
    end_s: float
    well_share: float = 1.0
    """Of its statements, how many ended well; 0 where it failed as a whole."""
    passes: int = 1
    """How often it did all of them: several times to fill a window."""


def check_under_load(output: Path, reading: Reading) -> tuple[dict[str, Any], str]:
    """Evidence by neighbour, and why the trial is invalid, if it is. Pure but for the file."""
    start_s, end_s = reading.window_start_s, reading.window_end_s
    if start_s is None or end_s is None:
        return json_of(output / FILE), ""
    evidence, problems = {}, []
    for name, told in json_of(output / FILE).items():
        seen = evidence[name] = _seen(told, start_s, end_s)
        share, error = seen["under_load_share"], f": {seen['error']}" if seen["error"] else ""
        if told["was"] == "new" or "started_at" not in told:
            problems.append(f"neighbour {name!r} never came under load")
        elif told["was"] == "ended":
            problems.append(f"neighbour {name!r} stopped before the trial's driver had ended{error}")
        elif share < UNDER_LOAD_SHARE_MIN:
            problems.append(
                f"neighbour {name!r} was under load for {share:.0%} of the measured time, at least "
                f"{UNDER_LOAD_SHARE_MIN:.0%} are needed; {seen['failed']} of its rounds failed{error}"
            )
    return evidence, "; ".join(problems)


def _seen(told: Mapping[str, str], start_s: float, end_s: float) -> dict[str, Any]:
    """What a neighbour did during the measured window. Only ``driver_cpu_s`` is from the start of its drivers."""
    done = [_round(line) for line in told.get("rounds", "").splitlines()]
    inside = [each for each in done if each.end_s > start_s and each.end_s <= end_s]
    starts = [each.start_s for each in done]
    if told.get("started_at") and (began_s := float(told["started_at"])) not in starts:
        starts.append(began_s)
    ends = [each.end_s for each in done] + [end_s] * (len(starts) - len(done))
    following = [*starts[1:], end_s] if starts else []
    unended = float((told.get("unended") or "1").split()[0])
    # However long they took: statements that fail are not the load that was asked for.
    well = [each.well_share for each in done] + [unended] * (len(starts) - len(done))
    loaded_s = 0.0
    for begun, ended, then, share in zip(starts, ends, following, well, strict=True):
        until = then if then - ended <= RESTART_S else ended
        loaded_s += share * max(0.0, min(until, end_s) - max(begun, start_s))
    return {
        "rounds": sum(each.well_share == 1 for each in inside),
        "failed": sum(each.well_share < 1 for each in inside),
        "round_s": _mean_s([each for each in inside if each.well_share == 1]),
        "under_load_share": round(loaded_s / (end_s - start_s), 3) if end_s > start_s else 1.0,
        "driver_cpu_s": float(told["cpu_s"]) if told.get("cpu_s") else None,
        "error": " ".join(told.get("error", "").split()),
    }


def _round(line: str) -> Round:
    """Of a line that ``trial/rounds.sh`` wrote; a load that is not of streams tells no more than how it ended."""
    begun, ended, status, *told = line.split()
    share, passes = (float(told[0]), int(told[1])) if len(told) == 2 else (1.0, 1)
    return Round(float(begun), float(ended), share if status == "0" else 0.0, passes)


def _mean_s(done: Sequence[Round]) -> float | None:
    """How long it took to do all statements once; None where no round was ended."""
    passes = sum(each.passes for each in done)
    return round(sum(each.end_s - each.start_s for each in done) / passes, 3) if done else None
