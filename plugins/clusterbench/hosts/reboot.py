"""Machines that are booted again: each once, all at the same time, and waited for until they are as they were."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from clusterbench.base.errors import HostAwayError, HostError
from clusterbench.base.scripts import script
from clusterbench.hosts.fleet import Fleet, raise_all

BACK_S = 1800
"""From the request to the last host's answer. A server with terabytes of memory checks it for ten minutes and more."""
STILL_UP_S = 300
"""A machine that has not gone down by then will not."""
ASK_EVERY_S = 5
ROOT_COMMANDS = ("/usr/bin/systemctl reboot",)


@dataclass(frozen=True)
class Boot:
    """One boot of a machine, by an id that the next one does not have, and folder -> what is mounted there."""

    id: str
    mounts: Mapping[str, str] = field(default_factory=dict)


def reboot(
    fleet: Fleet, folders: Mapping[str, Sequence[str]], spared: Collection[str], stop: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """Reboot the machines of the hosts that ``folders`` names. Returns host -> seconds until it answered again.

    ``folders`` are those of each host that must be mounted afterwards as they were. Hosts that are one machine are
    booted once. ``stop`` ends what runs there, and is called only if the machines can be rebooted. Raises HostError if
    one of them is also the machine of a host in ``spared``, or this very machine; if a host does not go down, or does
    not come back; or if a folder is on another file system than before.
    """
    before = boots(fleet, folders)
    _spare(fleet, before, spared)
    stop()
    one_of_each = {boot.id: host for host, boot in before.items()}
    begun = time.monotonic()
    doing = script("hosts/as_root") + script("hosts/reboot")
    _, failures = fleet.ask_each(dict.fromkeys(one_of_each.values(), doing))
    raise_all(error for error in failures.values() if not isinstance(error, HostAwayError))  # it may go at once
    took = _wait(fleet, before, begun)
    after = boots(fleet, folders)
    raise_all(
        HostError(
            f"host {fleet.addresses[host]}: {folder} is on {after[host].mounts.get(folder)} after its reboot, and was "
            f"on {source}. Nothing was started there. Mount it, and add it to /etc/fstab, so that every boot does"
        )
        for host, boot in before.items()
        for folder, source in boot.mounts.items()
        if after[host].mounts.get(folder) != source
    )
    return took


def boots(fleet: Fleet, folders: Mapping[str, Sequence[str]]) -> dict[str, Boot]:
    """Host -> the boot that it runs. Raises HostError naming every host that does not answer."""
    return {host: read(answer.output) for host, answer in fleet.run_each(_questions(folders)).items()}


def read(told: str) -> Boot:
    """What ``include/hosts/boot.sh`` prints."""
    words = [line.split(" ", 2) for line in told.splitlines()]
    (own,) = [rest[0] for kind, *rest in words if kind == "boot"]
    return Boot(own, {folder: source for kind, source, folder in (w for w in words if w[0] == "mount")})


def _questions(folders: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {host: script("hosts/boot", folders=list(own)) for host, own in folders.items()}


def _spare(fleet: Fleet, before: Mapping[str, Boot], spared: Collection[str]) -> None:
    """Who drives the trial must not go down with it."""
    needed = {boot.id: f"host {host!r}" for host, boot in boots(fleet, dict.fromkeys(spared, ())).items()}
    told = subprocess.run(["bash", "-c", script("hosts/boot")], capture_output=True, text=True, check=True).stdout
    needed[read(told).id] = "the machine on which this task of Airflow runs"
    raise_all(
        HostError(
            f"host {fleet.addresses[host]}: it was not rebooted, as it is {needed[boot.id]}, without which the trial "
            "cannot go on. Use a machine of its own for that, or another level of 'daemons'"
        )
        for host, boot in before.items()
        if boot.id in needed
    )


def _wait(fleet: Fleet, before: Mapping[str, Boot], begun: float) -> dict[str, float]:
    took: dict[str, float] = {}
    while missing := [host for host in before if host not in took]:
        time.sleep(ASK_EVERY_S)
        fleet.reconnect(missing)  # a connection to a machine that is gone says nothing for a while
        fleet.forget_unreachable()
        answers, away = fleet.try_each(_questions(dict.fromkeys(missing, ())), timeout_s=ASK_EVERY_S * 2)
        gone_s = time.monotonic() - begun
        now = {host: read(answer.output).id for host, answer in answers.items() if not answer.exit_status}
        took |= {host: round(gone_s, 1) for host, boot in now.items() if boot != before[host].id}
        if gone_s > STILL_UP_S:
            raise_all(
                HostError(
                    f"host {fleet.addresses[host]}: it did not go down within {STILL_UP_S} s of `systemctl reboot`. "
                    "`systemctl list-jobs` and `systemd-inhibit --list` there print what holds it"
                )
                for host, boot in now.items()
                if boot == before[host].id
            )
        if gone_s > BACK_S:
            raise_all(
                HostAwayError(
                    f"host {fleet.addresses[host]}: it did not come back within {BACK_S / 60:g} minutes of the reboot "
                    f"before the trial ({away.get(host, 'its boot could not be read')}). Look at its console"
                )
                for host in before
                if host not in took
            )
    return took
