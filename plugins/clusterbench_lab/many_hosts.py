"""Hundreds of hosts on this machine: sshds on loopback addresses, for tests and the bench of what reaches all hosts.

They run as whoever calls, and let only that user in, into an empty home: no profile of that user's counts in what
is measured. The addresses of one sshd share its host key. Whatever becomes of the caller, they end with it.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench.hosts.address import Address
from clusterbench_lab import processes
from clusterbench_lab.account import Account, myself
from clusterbench_lab.layout import is_free
from clusterbench_lab.processes import Record
from clusterbench_lab.server import tail, template
from clusterbench_lab.ssh import SSHD, make_key, public_key_of

ADDRESSES_PER_SSHD = 16
"""One sshd listens on no more: "Too many listen sockets"."""
FIRST_BLOCK = 201
"""127.0.201.x and on; labs have their blocks below."""
HOSTS_PER_BLOCK = 240
FIRST_PORT = 2322
START_LIMIT_S = 30.0


@dataclass
class ManyHosts:
    """What runs. ``addresses`` are in the order of the sshds, ``ADDRESSES_PER_SSHD`` of them for each."""

    folder: Path
    addresses: list[Address]
    sshds: list[Record]

    def served_by(self, sshd: int) -> list[str]:
        first = sshd * ADDRESSES_PER_SSHD
        return [address.name for address in self.addresses[first : first + ADDRESSES_PER_SSHD]]


@contextlib.contextmanager
def many_hosts(count: int, environment: Mapping[str, str] | None = None) -> Iterator[ManyHosts]:
    """Up on entry; down on exit, with all that was started on the hosts, and their folder removed.

    ``environment``: of whatever is done on them, beside what the lab gives.
    """
    folder = Path(tempfile.mkdtemp(prefix="clusterbench-hosts-"))
    account = myself()
    made = ManyHosts(folder, [], [])
    try:
        _start(made, account, count, environment or {})
        yield made
    finally:
        for record in made.sshds:
            processes.kill_all([facts for facts in [processes.facts_of(record.pid)] if facts and record.is_alive()])
        processes.kill_all(processes.marked("CLUSTERBENCH_LAB", str(folder), account))
        shutil.rmtree(folder, ignore_errors=True)


def _start(made: ManyHosts, account: Account, count: int, environment: Mapping[str, str]) -> None:
    if not Path(SSHD).exists():
        raise LabError(f"{SSHD} is missing. `make setup` installs openssh-server.")
    if account.user_id == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # root's sshd insists on it
    make_key(made.folder / "client_key", account, comment="many hosts")
    places = [f"127.0.{FIRST_BLOCK + n // HOSTS_PER_BLOCK}.{1 + n % HOSTS_PER_BLOCK}" for n in range(count)]
    port = _free_port(places)
    for number, first in enumerate(range(0, count, ADDRESSES_PER_SSHD)):
        here = {name_of(index): place for index, place in enumerate(places[first : first + ADDRESSES_PER_SSHD], first)}
        made.sshds.append(_sshd(made.folder, f"sshd{number}", account, here, port, environment=environment))
        host_key = " ".join(public_key_of(made.folder / f"sshd{number}" / "ssh" / "host_key").split()[:2])
        for name, place in here.items():
            work_dir = str(made.folder / "work" / name)
            key_file = str(made.folder / "client_key")
            made.addresses.append(
                Address(name, place, port, account.name, host_key=host_key, key_file=key_file, work_dir=work_dir)
            )
    _wait_until_ready(made)


def _free_port(places: list[str]) -> int:
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        if all(is_free(place, port) for place in places):
            return port
    raise LabError(f"no port from {FIRST_PORT} is free on all of {places[0]} to {places[-1]}; see: ss -ltnp")


def name_of(number: int) -> str:
    return f"host{number:03d}"


def _sshd(
    folder: Path, name: str, account: Account, places: Mapping[str, str], port: int, *, environment: Mapping[str, str]
) -> Record:
    """``places``: name -> address. A job is told which of them it was reached by, and so speaks from that one."""
    host_dir = folder / name
    for part in ("", "ssh"):
        account.make_directory(host_dir / part)
    make_key(host_dir / "ssh" / "host_key", account, comment=name)
    account.write(host_dir / "ssh" / "authorized_keys", public_key_of(folder / "client_key") + "\n")
    listen = "\n".join(f"ListenAddress {place}:{port}" for place in places.values())
    values = {"listen": listen, "name": name, "address": "", "host_dir": host_dir, "lab_dir": folder}
    more = "".join(f' "{variable}={value}"' for variable, value in environment.items())
    of_each = "".join(
        f'Match LocalAddress {place}\n  SetEnv "HOME={host_dir}" CLUSTERBENCH_HOST={each} CLUSTERBENCH_ADDRESS={place} '
        f'"CLUSTERBENCH_LAB={folder}"{more}\n'
        for each, place in places.items()
    )
    config = host_dir / "ssh" / "sshd_config"
    account.write(config, template("sshd_config", values | {"user": account.name, "home": host_dir}) + of_each)
    return processes.spawn(
        ["setpriv", "--pdeathsig", "KILL", SSHD, "-D", "-e", "-f", str(config)],
        account=account,
        environment=account.environment(),
        log_file=host_dir / "sshd.log",
        cwd=host_dir,
        fingerprint="",
    )


def _wait_until_ready(made: ManyHosts) -> None:
    """The last address of each: an sshd listens on them in order."""
    deadline = time.monotonic() + START_LIMIT_S
    for number, record in enumerate(made.sshds):
        last = made.addresses[min((number + 1) * ADDRESSES_PER_SSHD, len(made.addresses)) - 1]
        while not _greets(last):
            if not record.is_alive() or time.monotonic() > deadline:
                log = tail(made.folder / f"sshd{number}" / "sshd.log", 5)
                raise LabError(f"{last}: its sshd did not come up. Its log ends with:\n{log}")
            time.sleep(0.02)


def _greets(address: Address) -> bool:
    try:
        with socket.create_connection((address.host, address.port), timeout=2.0) as connection:
            return connection.recv(8).startswith(b"SSH-2.0")
    except OSError:
        return False
