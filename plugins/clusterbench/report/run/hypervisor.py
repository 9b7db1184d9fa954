"""What the hypervisor saw beside what the guests saw: processors of host and guest, ready time, swapping, others. Pure.

A guest sees what it was given; only its hypervisor knows what it waited for. Paper 003 held utilisation equal at the
host, and paper 004 looked at steal, which is a guest's word for its ready time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import some_of
from clusterbench.results.gather import Gathered
from clusterbench.results.hypervisor_views import busy_others

MACHINE_WORDS = {
    "cpu_ready_percent": "ready",
    "cpu_costop_percent": "co-stop",
    "swapped_in_kib_per_s": "swapped in",
    "balloon_mib": "balloon",
}


@dataclass(frozen=True)
class ViewRow:
    """One trial. Of hosts and of guests: the mean over all of them, and the highest."""

    trial: str
    platform: str
    host_cpu: tuple[float, float] | None
    guest_cpu: tuple[float, float] | None
    """By the guests' own telemetry."""
    steal: tuple[float, float] | None
    machines: Mapping[str, tuple[float, float] | None]
    """By the hypervisor; see ``MACHINE_WORDS``."""
    others: str
    """Machines that are not of the layout and were busy on its hosts meanwhile, with the share of their vCPUs' time."""
    covered_percent: float


@dataclass(frozen=True)
class HostRow:
    platform: str
    host: str
    name: str
    facts: Mapping[str, Any]
    others: str


@dataclass(frozen=True)
class Seen:
    rows: list[ViewRow]
    hosts: list[HostRow]
    problems: list[str]
    interval_s: float
    clock_ahead_s: float
    switches: list[str]


def seen(run: Gathered) -> Seen | None:
    """None where no machine was made for the run."""
    if not run.machines:
        return None
    views = {key: view for key, view in run.views.items() if "problem" not in view}
    told = [(record, views[key]) for record in run.trials if (key := (record.trial.platform, record.trial.id)) in views]
    problems = {f"its counters could not be had: {v['problem']}": None for v in run.views.values() if "problem" in v}
    problems |= {str(view["remark"]): None for view in views.values() if view.get("remark")}
    if any("simulator" in str(facts.get("vendor")) for up in run.machines.values() for facts in up["hosts"].values()):
        problems["it is a simulator, as in the lab: its counters are made up, and say nothing of these trials"] = None
    return Seen(
        rows=[_row(record, view) for record, view in told],
        hosts=[row for platform, known in run.machines.items() for row in _hosts(platform, known)],
        problems=list(problems),
        interval_s=max((float(view["interval_s"]) for _, view in told), default=0.0),
        clock_ahead_s=max((float(view["clock_ahead_s"]) for _, view in told), key=abs, default=0.0),
        switches=[_switch(platform, known) for platform, known in run.machines.items()],
    )


def _row(record: TrialRecord, view: Mapping[str, Any]) -> ViewRow:
    machines = view["machines"]
    guests = [(record.telemetry.get(host) or {}).get("mean") or {} for host in machines]
    return ViewRow(
        trial=record.trial.label,
        platform=record.trial.platform,
        host_cpu=_spread(_host_cpu(told) for told in view["hosts"].values()),
        guest_cpu=_spread(mean.get("cpu_allotted_percent", mean.get("cpu_percent")) for mean in guests),
        steal=_spread(mean.get("cpu_steal_percent") for mean in guests),
        machines={name: _spread(told.get(name) for told in machines.values()) for name in MACHINE_WORDS},
        others=_others(view),
        covered_percent=100 * float(view["covered"]),
    )


def _host_cpu(told: Mapping[str, float]) -> float | None:
    """Of its threads, as ``esxtop``'s PCPU UTIL; else of its cycles."""
    return told.get("cpu_percent", told.get("cpu_usage_percent"))


def _spread(values: Iterable[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (fmean(known), max(known)) if known else None


def _others(view: Mapping[str, Any]) -> str:
    named = [f"{name} on {view['others'][name]['on']} ({percent:.0f} %)" for name, percent in busy_others(view).items()]
    return some_of(named) if named else ""


def _hosts(platform: str, known: Mapping[str, Any]) -> list[HostRow]:
    called = {one["on"]: one["machine"] for one in known.get("machines") or []}
    rows = []
    for name, facts in (known.get("hosts") or {}).items():
        strangers = [each["name"] for each in facts.get("machines") or [] if each["is_on"] and not each["ours"]]
        rows.append(HostRow(platform, called.get(name, ""), name, facts, some_of(strangers) if strangers else ""))
    return rows


def _switch(platform: str, known: Mapping[str, Any]) -> str:
    made: Sequence[str] = known.get("made") or ()
    shut: Sequence[str] = known.get("shut_down") or ()
    parts = [f"{len(known.get('machines') or [])} machines were up after {float(known.get('seconds', 0)):.0f} s"]
    parts += [f"{len(made)} of them made"] if made else []
    parts += [f"{len(shut)} of another layout shut down for them"] if shut else []
    return f"{platform}: {', '.join(parts)}"
