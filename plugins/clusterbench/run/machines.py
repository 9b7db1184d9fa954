"""The machines of a platform within a run: brought up for it, looked at by their hypervisor, and given back.

What was found, what is about to be made and what came up is archived each time, so that whichever worker goes on knows
it. Addresses and host keys of guests are in there, as their hypervisor told them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import HostAwayError, MachineError
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts.fleet import Fleet
from clusterbench.machines import switch
from clusterbench.machines.guests import reaching
from clusterbench.machines.hypervisors import hypervisor_of, keeps_samples
from clusterbench.machines.provider import Guest, Hypervisor
from clusterbench.results.hypervisor_views import key_of
from clusterbench.results.machine_notes import Notes
from clusterbench.spec.machine_layout import layout, machine_hosts
from clusterbench.spec.machines import Machines
from clusterbench.spec.platform import Platform

if TYPE_CHECKING:
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

LOOKED_BACK = 20
"""Trials before one of which the hypervisor's view may be missing; those of before have it, or get it at release."""
LATE_S = 45.0
"""So long after its end all samples of a window have come to a hypervisor: two intervals of 20 s, and a little. Its
connection may say otherwise, as the lab's does."""
KNOCK_EVERY_S = 1.0


def bring_up(run: Run, platform: Platform) -> None:
    """The platform's layout, and no other of its cluster, is up; every guest answers with the key that it told."""
    assert platform.machines is not None
    notes = Notes(run.archive, platform.platform)
    with hypervisor_of(platform.machines, run.connections) as hypervisor:
        found = hypervisor.look()
        if not notes.is_begun:
            was_on = [one.name for one in found.values() if one.is_on and _is_of(one.mark, platform)]
            making = [one.name for one in layout(platform) if one.name not in found]
            notes.add("begun", {"was_on": was_on, "making": making})
        begun = time.monotonic()
        done = switch.bring_up(platform, hypervisor, run.holder, notes.newest("begun")["making"])
        guests = switch.await_guests(platform, hypervisor)
        facts = hypervisor.host_facts(list(platform.machines.hosts.values()))
    _await_sshd(platform, run, guests)
    notes.add(
        "up",
        {
            "guests": {host: guest.as_json() for host, guest in guests.items()},
            "machines": [one.as_json() for one in layout(platform)],
            "made": [one.name for one in done.make],
            "shut_down": done.shut_down,
            "hosts": facts,
            "seconds": round(time.monotonic() - begun, 1),
        },
    )


def _is_of(mark: Any, platform: Platform) -> bool:
    return mark is not None and mark.cluster == platform.cluster


def _await_sshd(platform: Platform, run: Run, guests: Mapping[str, Guest]) -> None:
    """A guest tells its key when it boots; its sshd may greet a little later. Only that key is ever accepted."""
    assert platform.machines is not None
    deadline = time.monotonic() + platform.machines.ready_minutes * 60
    while True:
        try:
            with Fleet.of(platform, reaching(platform, run.connections, guests)) as fleet:
                fleet.run(list(machine_hosts(platform)), "true")
            return
        except HostAwayError:
            if time.monotonic() > deadline:
                raise
            time.sleep(KNOCK_EVERY_S)


def give_back(run: Run, platform: Platform) -> None:
    """As they were found; once, however often it is called. The hypervisor's view of the trials is archived first."""
    notes = Notes(run.archive, platform.platform)
    if platform.machines is None or not notes.is_begun:
        return
    with hypervisor_of(platform.machines, run.connections) as hypervisor:
        switch.release(platform, hypervisor, run.holder, notes.newest("begun")["was_on"])
    if not run.archive.sealed:
        notes.add("released", {})


def made_for(run: Run, platforms: Iterable[str]) -> list[str]:
    """Those whose machines this run has brought up, or begun to."""
    return [name for name in platforms if Notes(run.archive, name).count("begun")]


def are_there_to_put_back(run: Run, platform: Platform) -> bool:
    """Whether a platform has hosts on which something could be put back: where nobody makes them, it always has.

    Machines that never came up have nothing to put back. Those that are down or gone by now, which somebody else has
    seen to, would be waited for in vain; the next run finds them as ours, and sets them up again.
    """
    if platform.machines is None:
        return True
    if not Notes(run.archive, platform.platform).guests():
        return False
    with hypervisor_of(platform.machines, run.connections) as hypervisor:
        found = hypervisor.look()
    is_any_on = any(one.name in found and found[one.name].is_on for one in layout(platform))
    if not is_any_on:
        log.warning("none of the machines of %s is on: somebody else has shut them down", platform.platform)
    return is_any_on


def why_over_budget(run: Run, platform: Platform) -> str:
    """Why nothing more is measured on these machines; empty where there is time, or no machine is ours."""
    if platform.machines is None:
        return ""
    begun = Notes(run.archive, platform.platform).newest("begun")
    hours = platform.machines.budget.hours
    if not begun or _hours_since(begun["at"]) < hours:
        return ""
    return (
        f"its machines have been up since {begun['at']}, and their budget is {hours:g} hours "
        f"(machines.budget.hours in include/platforms/{platform.platform}.yaml)"
    )


def _hours_since(at: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds() / 3600


# What the hypervisor saw.


def collect_views(run: Run, platform: Platform, before: str = "") -> None:
    """The hypervisor's view of each trial that is measured and has none yet, as ``hypervisor.json`` beside its record.

    ``before`` a trial: of the last ones whose samples have come by now. Else, at release, of all, for which is waited.
    A hypervisor that cannot tell costs no trial: the reason is archived in the view's place. Of one that keeps no
    samples its totals are noted each time, which is never while a trial of the platform is measured.
    """
    if platform.machines is None or run.archive.sealed or not run.archive.get_json("plan.json"):
        return
    is_sampled = keeps_samples(platform.machines)
    late_s = _late_s(run, platform.machines) if is_sampled else 0.0
    if not is_sampled:
        _note_totals(run, platform)
    records, all_of_them = _without_view(run, platform, before), not before
    if all_of_them and records:
        newest_s = max(one.window_end_s or 0.0 for one in records)
        time.sleep(max(0.0, min(late_s, newest_s + late_s - time.time())))
    due = [one for one in records if all_of_them or (one.window_end_s or 0.0) + late_s < time.time()]
    if not due:
        return
    try:
        with hypervisor_of(platform.machines, run.connections) as hypervisor:
            ahead_s = hypervisor.clock_ahead_s() - _client_ahead_s(run, platform)
            noted = [] if is_sampled else _noted_since(run, platform, min(_start_s(one) for one in due) + ahead_s)
            for record in due:
                run.archive.put_json(
                    key_of(record.trial.platform, record.trial.id), _view(platform, hypervisor, record, ahead_s, noted)
                )
    except (MachineError, HostAwayError) as error:
        log.warning("the hypervisor's view: %s", error)
        if all_of_them:
            for record in due:
                run.archive.put_json(key_of(record.trial.platform, record.trial.id), {"problem": str(error)})


def _late_s(run: Run, machines: Machines) -> float:
    said = run.connections(machines.connection).extra.get("samples_late_s", LATE_S)
    if isinstance(said, bool) or not isinstance(said, int | float) or said < 0:
        raise MachineError(
            f"connection {machines.connection!r}: 'samples_late_s' of its extra is {said!r}; it must be a number of "
            "seconds"
        )
    return float(said)


def _start_s(record: TrialRecord) -> float:
    return record.window_start_s or 0.0


def _note_totals(run: Run, platform: Platform) -> None:
    """As they are now; where they cannot be had, a view says later that they were not noted."""
    assert platform.machines is not None
    hosts = list(platform.machines.hosts.values())
    try:
        with hypervisor_of(platform.machines, run.connections) as hypervisor:
            totals = hypervisor.totals([one.name for one in layout(platform)], hosts)
    except MachineError as error:
        log.warning("the hypervisor's totals: %s", error)
        return
    Notes(run.archive, platform.platform).add("totals", totals)


def _noted_since(run: Run, platform: Platform, start_s: float) -> list[dict[str, Any]]:
    """Totals, the newest first, to the last that were noted before."""
    found = []
    for told in Notes(run.archive, platform.platform).newest_first("totals"):
        found.append(told)
        if told["at_s"] <= start_s:
            break
    return found


def _without_view(run: Run, platform: Platform, before: str) -> list[TrialRecord]:
    planned = run.plan().trials.get(platform.platform, [])
    ids = [trial.id for trial in planned]
    if before in ids:
        planned = planned[max(0, ids.index(before) - LOOKED_BACK) : ids.index(before)]

    def record_of(trial: Trial) -> TrialRecord | None:
        return (
            None
            if run.archive.get_json(key_of(trial.platform, trial.id))
            else run.archive.trial(trial.platform, trial.id)
        )

    found = filter(None, in_parallel(record_of, planned))
    return [one for one in found if one.window_start_s is not None and one.window_end_s is not None]


def _client_ahead_s(run: Run, platform: Platform) -> float:
    """The client's clock, by which windows are reported, less this worker's."""
    with run.testbed(platform.platform) as testbed:
        return testbed.fleet.clocks([platform.client])[platform.client].offset_s


def _view(
    platform: Platform,
    hypervisor: Hypervisor,
    record: TrialRecord,
    ahead_s: float,
    noted: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    assert platform.machines is not None and record.window_start_s is not None and record.window_end_s is not None
    wanted = {one.name: one for one in layout(platform)}
    seen = hypervisor.usage(
        list(wanted),
        list(platform.machines.hosts.values()),
        record.window_start_s + ahead_s,
        record.window_end_s + ahead_s,
        noted,
    )
    machines = {
        wanted[name].host: {**told, "machine": wanted[name].machine, "name": name}
        for name, told in seen["machines"].items()
    }
    called = {on: machine for machine, on in platform.machines.hosts.items()}
    hosts = {called[on]: {**told, "name": on} for on, told in seen["hosts"].items()}
    others = {name: {**told, "machine": called.get(told.get("on", ""), "")} for name, told in seen["others"].items()}
    return {**seen, "machines": machines, "hosts": hosts, "others": others, "clock_ahead_s": round(ahead_s, 3)}
