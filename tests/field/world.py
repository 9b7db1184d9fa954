"""The field: a second world to test in, as unlike the lab as a customer's cluster is, on this one machine.

Three hosts in namespaces of their own: ``gate``, the bastion and the only one that can be reached from here;
``client``, with the roles client and etl, whose clock is behind; ``db1``, booted by a systemd, with a PostgreSQL that
speaks TLS only and is a unit of it. Hosts are logged in to through the bastion, over a slow network; data goes over
another one. Sessions speak German, and one home is shared by all. It needs root.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import Any

from clusterbench.base.connections import Connection, Connections, from_parts
from clusterbench.base.errors import ClusterbenchError
from clusterbench.hosts.sudoers import sudoers
from clusterbench.spec.platform import Platform
from clusterbench_lab.postgres import binary_dir
from tests.field import binaries, hosts, systemd
from tests.field import database as databases
from tests.field.database import DATABASE, NAME, ROLE, SERVICE, Database
from tests.field.hosts import USER, Account, Host
from tests.field.network import NAMESPACE, Network, do, network

BASTION, HOSTS = "gate", ("client", "db1")
PREFIX = "clusterbench-field-"
"""Of folders and control groups; then comes the process that made them."""
PASSPHRASE = "sesam öffne dich"
PLATFORM: dict[str, Any] = {
    "platform": "field",
    "title": "The field: hosts behind a bastion, TLS, German, somebody else's service",
    "engine": "postgres",
    "cluster": "field",
    "may": ["restart", "recover", "evict", "session_settings", "host_settings", "engine_settings"],
    "service": SERVICE,
    "database": "field_database",
    "hosts": {
        "client": {"ssh": "field_client", "roles": ["client", "etl"]},
        "db1": {"ssh": "field_db1", "roles": ["coordinator"]},
    },
    "page_cache": "evict_files",  # the machine's whole page cache belongs to others, too
    "settings": {"fsync": "on", "work_mem": "8MB", "shared_buffers": "96MB"},  # the last is read at start only
    "setup": {
        "hosts": [{"roles": ["coordinator"], "sysctl": {"net.ipv4.tcp_keepalive_time": 600}}],
    },
}
"""As in a platform's file. The kernel has the one setting for each network namespace, so that it may be changed."""


@dataclass(frozen=True)
class Field:
    """The world while it is up."""

    wires: Network
    gate: Host
    client: Host
    db1: Host
    account: Account
    private_key: str = attribute(repr=False)
    database: Database
    platform: dict[str, Any]
    version: str
    """Of its PostgreSQL, where it is not Debian's."""

    def unit_of_server(self) -> str:
        """As the server's control groups tell it."""
        found = self.db1.run(f"cat /proc/$(head -n 1 {self.database.data}/postmaster.pid)/cgroup")
        (unit,) = {line.rpartition("/")[2] for line in found.splitlines() if "/system.slice/" in line}
        return unit

    def connections(self) -> Connections:
        """As a secrets backend has them: no file of a worker is needed."""
        known = {name: from_parts(name, parts) for name, parts in self._parts().items()}

        def find(conn_id: str) -> Connection:
            if conn_id not in known:
                raise ClusterbenchError(f"unknown connection {conn_id!r}")
            return known[conn_id]

        return find

    def _parts(self) -> dict[str, dict[str, Any]]:
        login = {"private_key": self.private_key, "private_key_passphrase": PASSPHRASE}
        ssh = {
            f"field_{host.name}": {
                "host": self.wires.bastion if host is self.gate else self.wires.management(host.name),
                "login": USER,
                "extra": {**login, "host_key": host.host_key}
                | ({} if host is self.gate else {"jump_host": f"field_{BASTION}"}),
            }
            for host in (self.gate, self.client, self.db1)
        }
        return {**ssh, "field_database": self._database()}

    def _database(self) -> dict[str, Any]:
        made = self.database
        tls = {
            "sslmode": "verify-full",
            "sslrootcert": made.authority.certificate,
            "sslcert": made.measurer.certificate,
            "sslkey": made.measurer.key,
        }
        place = {"host": NAME, "port": databases.PORT, "schema": DATABASE}
        return {**place, "login": ROLE, "password": made.password, "extra": tls}


@contextmanager
def field(version: str = "", **changes: Any) -> Iterator[Field]:
    """Up on entry, gone on exit, with a PostgreSQL of one of ``binaries.VERSIONS``, or Debian's.

    ``changes`` are made to the platform's file.
    """
    remove_orphans()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")))
        folder.chmod(0o755)
        program = binaries.unpack(version, folder / "program") if version else binary_dir()
        groups = stack.enter_context(systemd.control_groups(folder.name))
        wires = stack.enter_context(network(BASTION, HOSTS))
        platform = PLATFORM | {"data_network": wires.data_network} | changes
        hosts.make_locales(folder / "locale")
        account, private_key = _account(folder)
        made = databases.write(
            folder / "database", program, wires.data("db1"), account.user_id, secrets.token_urlsafe(24)
        )
        found = _hosts(stack, folder, wires, account, made, platform, groups)
        databases.start(made, found["db1"])
        up: dict[str, Any] = {**found, "account": account, "private_key": private_key, "database": made}
        yield Field(wires, **up, platform=platform, version=version)


def remove_orphans() -> None:
    """What is left of fields whose makers were killed before they could end them: no process, but names and files."""
    for namespace in do("ip", "netns", "list").splitlines():
        if (found := NAMESPACE.match(namespace)) and not Path(f"/proc/{found['maker']}").exists():
            do("ip", "netns", "delete", namespace.split()[0])
    for place in (Path(tempfile.gettempdir()), *(each.place for each in systemd.hierarchies())):
        for left in place.glob(f"{PREFIX}*"):
            maker = left.name.removeprefix(PREFIX).partition("-")[0]
            if maker.isdigit() and not Path(f"/proc/{maker}").exists():
                if place == Path(tempfile.gettempdir()):
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    systemd.remove_group(left)


def _hosts(
    stack: ExitStack,
    folder: Path,
    wires: Network,
    account: Account,
    made: Database,
    platform: dict[str, Any],
    groups: Sequence[Path],
) -> dict[str, Host]:
    """All of them, up until the stack ends; ``groups`` are those of the host that boots a systemd."""
    names = {each: wires.management(each) for each in wires.hosts} | {NAME: wires.data("db1")}
    allowed = sudoers(Platform.model_validate(platform), [USER])
    own: dict[str, dict[str, Any]] = {
        BASTION: {"address": wires.bastion},
        "client": {"sudoers": allowed, "clock_behind": True},
        "db1": {"sudoers": allowed, "groups": groups},
    }
    return {
        name: stack.enter_context(hosts.host(folder, name, wires, account, names, **own[name])) for name in wires.hosts
    }


def _account(folder: Path) -> tuple[Account, str]:
    """Its key is a text with a passphrase; no file of it stays."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    number = next(each for each in range(4200, 60000) if each not in taken)
    key = folder / "key"
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", PASSPHRASE, "-f", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    private, public = key.read_text(), key.with_suffix(".pub").read_text()
    key.unlink()
    account = Account(number, folder / "home", secrets.token_urlsafe(12), public)
    hosts.make_home(account.home, number, public)
    return account, private
