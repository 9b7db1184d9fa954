"""One command on 640 hosts, by the fleet and by what Debian has for it, clush and pdsh: seconds from log-in to the end.

The hosts are sshds on loopback addresses of this machine, which so does the work of both sides. Most of what clush and
pdsh need longer is the key exchange that ssh prefers; told to use that of asyncssh, pdsh is as fast as the fleet.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from clusterbench.hosts.fleet import DROP_PAGE_CACHE, Fleet
from clusterbench_lab.many_hosts import ManyHosts, many_hosts

HOSTS = 640
ROUNDS = 3
COMMAND = "uname -r"
"""It answers one line a host, which is counted."""
AT_ONCE = 64
"""The fan-out of clush and pdsh: how many instances of ssh they run at a time."""
RATIO_MAX = 1.0
FLUSH_S_MAX = 30.0
"""What a flush on all of them may take, with 2 cores."""


def measure(say: Callable[..., bool]) -> bool:
    """Prints the ratios; True where we are slower than neither. The order of the three turns from round to round."""
    with many_hosts(HOSTS) as hosts:
        known, places = _known_hosts(hosts), [address.host for address in hosts.addresses]
        ways: dict[str, Callable[[], str]] = {
            "ours": lambda: _ours(hosts),
            "clush": lambda: _theirs(_clush(hosts, known, places), {}),
            "pdsh": lambda: _theirs(*_pdsh(hosts, known, places)),
        }
        medians = {name: statistics.median(seconds) for name, seconds in _in_turns(ways).items()}
        flush_s = _flush_s(hosts)
    say(f"seconds of {COMMAND} on {HOSTS} hosts, median of {ROUNDS}", medians["ours"])
    held = [say(f"seconds of a flush of {HOSTS} hosts", flush_s, f"at most {FLUSH_S_MAX}", holds=flush_s < FLUSH_S_MAX)]
    for other in ("clush", "pdsh"):
        ratio = medians["ours"] / medians[other]
        what = f"seconds of {COMMAND} on {HOSTS} hosts / by {other} -f {AT_ONCE}, medians of {ROUNDS}"
        held.append(say(what, ratio, f"at most {RATIO_MAX}", holds=ratio <= RATIO_MAX))
    return all(held)


def _in_turns(ways: dict[str, Callable[[], str]]) -> dict[str, list[float]]:
    """Way -> seconds, one a round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(ROUNDS):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            begun = time.monotonic()
            said = ways[name]()
            seconds[name].append(time.monotonic() - begun)
            if said.count(os.uname().release) != HOSTS:
                raise RuntimeError(f"{name}: not all of {HOSTS} hosts answered: {said[-500:]}")
    return seconds


def _ours(hosts: ManyHosts) -> str:
    with Fleet(hosts.addresses) as fleet:
        return "".join(answer.output for answer in fleet.run(fleet.names, COMMAND).values())


def _flush_s(hosts: ManyHosts) -> float:
    """With the logins. They share this machine's page cache, so one drops it: another would take away what they run."""
    begun = time.monotonic()
    with Fleet(hosts.addresses) as fleet:
        first = fleet.names[0]
        fleet.run_each(dict.fromkeys(fleet.names, "sync") | {first: "sync" if os.geteuid() else DROP_PAGE_CACHE})
    return time.monotonic() - begun


def _theirs(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _clush(hosts: ManyHosts, known: Path, places: list[str]) -> list[str]:
    fan_out = ["-f", str(AT_ONCE), "-l", hosts.addresses[0].login, "-w", ",".join(places)]
    return ["clush", "--nostdin", "-S", *fan_out, "-o", " ".join(_ssh_options(hosts, known)), COMMAND]


def _pdsh(hosts: ManyHosts, known: Path, places: list[str]) -> tuple[list[str], dict[str, str]]:
    fan_out = ["-f", str(AT_ONCE), "-l", hosts.addresses[0].login, "-w", ",".join(places)]
    return ["pdsh", "-R", "ssh", "-S", *fan_out, COMMAND], {
        "PDSH_SSH_ARGS_APPEND": " ".join(_ssh_options(hosts, known)),
    }


def _ssh_options(hosts: ManyHosts, known: Path) -> list[str]:
    """The same key and pinned host keys. The rest is as ssh comes, with its own key exchange (sntrup761x25519)."""
    one = hosts.addresses[0]
    options = [f"UserKnownHostsFile={known}", "StrictHostKeyChecking=yes", "BatchMode=yes", "IdentitiesOnly=yes"]
    return ["-F", "none", "-p", str(one.port), "-i", one.key_file, *(f"-o{option}" for option in options)]


def _known_hosts(hosts: ManyHosts) -> Path:
    path = hosts.folder / "known_hosts"
    path.write_text("".join(f"[{each.host}]:{each.port} {each.host_key}\n" for each in hosts.addresses))
    return path
