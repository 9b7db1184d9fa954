"""What the processors ran while a trial was measured: sampled by perf on the hosts that do the work, on demand.

Sampling costs time, so a profiled trial is one more than its cell's repetitions, and no result is made of it.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clusterbench.base.errors import SpecError
from clusterbench.base.measurements import Reading
from clusterbench.base.profiles import IDLE, Profile, folded
from clusterbench.base.records import Trial
from clusterbench.hosts import profile
from clusterbench.spec import Platform
from clusterbench.spec.leave import why_not

FILE = "profile.folded.gz"
"""Of a trial in the archive: stacks in the form that tools for flame graphs read, of all machines together."""


def check(platform: Platform) -> None:
    """Raises SpecError where the platform's file does not allow it, or names no host to look at."""
    if refused := why_not(platform, "profile"):
        raise SpecError([f"profile: {refused}"])
    if not platform.engine_hosts:
        raise SpecError([f"profile: platform {platform.platform!r} names no host whose processors could be sampled"])


def sampling(platform: Platform, trial: Trial) -> dict[str, str]:
    """Host -> bash for it, after the collector was started; nothing for a trial that is not profiled."""
    return dict.fromkeys(platform.engine_hosts, profile.start(trial.timeout_s)) if trial.profiled else {}


def read(output: Path, trial: Trial, reading: Reading, ahead_s: Mapping[str, float]) -> dict[str, Any]:
    """Sum up what the hosts sampled in the window, to a tenth of a second, into ``FILE``. Returns what is said of it.

    Hosts that are one machine sample the same processors: one of them is read. ``ahead_s``: as ``clocks_ahead``.
    """
    if not trial.profiled:
        return {}
    stacks: Counter[str] = Counter()
    machines: dict[str, str] = {}
    problems = []
    for folder in sorted(path for path in (output / "telemetry").glob("*") if (path / profile.ERRORS).exists()):
        boot = folder / "telemetry.boot"
        machine = boot.read_text().strip() if boot.exists() else folder.name
        if not (folder / profile.SAMPLES).exists():
            said = (folder / profile.ERRORS).read_text(errors="replace").strip() or "perf said nothing"
            problems.append(
                f"host {folder.name!r}: processors were not sampled: {said.splitlines()[0]}; perf must be installed, "
                f"and its /etc/sudoers.d must have what 'clusterbench sudoers {trial.platform}' prints"
            )
        elif machine not in machines:
            machines[machine] = folder.name
            for stack, times in _in_window(folder / profile.SAMPLES, reading, ahead_s.get(folder.name, 0.0)):
                stacks[stack] += times
    idle = stacks.pop(IDLE, 0)
    if not stacks:
        return {"profile": {"problems": problems or ["no host sampled anything in the measured window"]}}
    with gzip.open(output / FILE, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in folded(Profile(stacks)))
    hosts = sorted(machines.values())
    told = {"samples": stacks.total(), "idle_samples": idle, "rate_hz": profile.RATE_HZ, "hosts": hosts}
    return {"profile": told | ({"problems": problems} if problems else {})}


def _in_window(path: Path, reading: Reading, ahead_s: float) -> Iterator[tuple[str, int]]:
    start_s, end_s = reading.window_start_s, reading.window_end_s
    if start_s is None or end_s is None:
        return
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            time_s, times, stack = line.rstrip("\n").split("\t", 2)
            if start_s + ahead_s <= float(time_s) < end_s + ahead_s:
                yield stack, int(times)
