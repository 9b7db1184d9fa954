"""How fast each host is by itself: processors, memory, a disk, the network. By sysbench, fio and iperf3, within bounds.

Processors, memory and disks are measured on all hosts at once, as each has its own; hosts that share a machine then
share it, as they do under load. The network is measured in pairs, both ways at once, and each host is in one pair at a
time, so that it takes as long for many hosts as for few.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterbench.base.scripts import script
from clusterbench.hosts.data_network import data_addresses
from clusterbench.hosts.fleet import Fleet
from clusterbench.hosts.speed_kinds import KINDS
from clusterbench.spec.leave import why_not

if TYPE_CHECKING:
    from clusterbench.spec.platform import HostSpeed, Platform

log = logging.getLogger(__name__)

PORT = 15202
NO_FOLDER = "/nowhere"
"""Of what needs none."""
MIBIT = 2**20
MORE_S = 60
"""Beside what is declared, for a host to begin and to end."""


@dataclass
class Speeds:
    """Host -> name -> value, and host -> what could not be measured and why."""

    hosts: dict[str, dict[str, float]] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)

    def note(self, host: str, lines: str) -> None:
        for name, value in (line.split() for line in lines.splitlines() if len(line.split()) == 2):
            if name in KINDS:
                self.hosts.setdefault(host, {})[name] = float(value)

    def lacks(self, host: str, what: str, why: str) -> None:
        self.problems.setdefault(host, []).append(f"{what} not measured: {why.strip()[:300] or 'no message'}")


def measure(fleet: Fleet, platform: Platform, declared: HostSpeed, folders: Mapping[str, str]) -> Speeds:
    """``folders``: of hosts whose disk is measured one of the engine's data. Raises nothing for a host that cannot."""
    found = Speeds()
    for what in ("processor", "memory"):
        _at_once(fleet, found, what, dict.fromkeys(fleet.names, NO_FOLDER), declared)
    if declared.disk_mib and (refused := why_not(platform, "measure_disks")):
        for host in folders:
            found.lacks(host, "disk", refused)
    elif declared.disk_mib:
        _at_once(fleet, found, "disk", folders, declared)
    _network(fleet, found, platform, declared)
    return found


def _at_once(fleet: Fleet, found: Speeds, what: str, folders: Mapping[str, str], declared: HostSpeed) -> None:
    scripts = {
        host: script("hosts/speed", what=what, seconds=declared.seconds, folder=folder, mib=declared.disk_mib)
        for host, folder in folders.items()
    }
    answers, away = fleet.try_each(scripts, timeout_s=20 * declared.seconds + 2 * MORE_S)
    for host, answer in answers.items():
        found.note(host, answer.output)
        if answer.exit_status or not answer.output.strip():
            found.lacks(host, what, answer.error)
    for host, why in away.items():
        found.lacks(host, what, why)


def rounds(hosts: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """(sender, receiver) of each round: every host beside the next, and no host twice in a round. Pure."""
    ring = [(one, hosts[(place + 1) % len(hosts)]) for place, one in enumerate(hosts)]
    if len(hosts) < 3:
        ring = ring[: len(hosts) - 1]
    last = [ring.pop()] if len(ring) > 1 and len(ring) % 2 else []
    yield from filter(None, (ring[0::2], ring[1::2], last))


def _network(fleet: Fleet, found: Speeds, platform: Platform, declared: HostSpeed) -> None:
    """Of each host the faster of its two pairs, each way: a slow host is slow in both, and its neighbours are not."""
    addresses = {host: one.address for host, one in data_addresses(fleet, platform, fleet.names).items()}
    folders = {host: f"{work}/host_speed" for host, work in fleet.work_dirs(fleet.names).items()}
    for pairs in rounds(fleet.names):
        serve = {
            to: script("microbenchmarks/serve", directory=folders[to], address=addresses[to], port=PORT)
            for _, to in pairs
        }
        answers, away = fleet.try_each(serve, timeout_s=MORE_S)
        silent = away | {host: answer.error for host, answer in answers.items() if answer.exit_status}
        send = {
            one: f"iperf3 -c {addresses[to]} -p {PORT} -t {declared.seconds} -J --bidir"
            for one, to in pairs
            if to not in silent
        }
        sent, lost = fleet.try_each(send, timeout_s=declared.seconds + MORE_S)
        for one, to in pairs:
            if to in silent:
                found.lacks(to, "network", silent[to])
            elif one in lost:
                found.lacks(one, f"network to {to}", lost[one])
            else:
                _note_pair(found, one, to, sent[one].output or sent[one].error)
        stop = {to: script("microbenchmarks/serve_no_more", directory=folders[to]) for _, to in pairs}
        fleet.try_each(stop, timeout_s=MORE_S)


def _note_pair(found: Speeds, one: str, to: str, said: str) -> None:
    try:
        end = json.loads(said)["end"]
        there, back = (end[name]["bits_per_second"] / MIBIT for name in ("sum_received", "sum_received_bidir_reverse"))
    except (ValueError, KeyError, TypeError):
        why = json.loads(said).get("error", "") if said.lstrip().startswith("{") else said
        found.lacks(one, f"network to {to}", str(why))
        return
    for host, sent, received in ((one, there, back), (to, back, there)):
        speeds = found.hosts.setdefault(host, {})
        for name, rate in (("network_sent_mibit_per_s", sent), ("network_received_mibit_per_s", received)):
            speeds[name] = max(rate, speeds.get(name, 0.0))
