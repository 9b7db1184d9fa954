"""A small cluster that is not the lab's: three hosts, a PostgreSQL of its own, and object storage; nobody knows them.

Each host has an sshd and a home of its own, as machines have. Only the programs are the lab's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from clusterbench_lab.account import Account, server_account
from clusterbench_lab.credentials import Credentials
from clusterbench_lab.layout import Layout
from clusterbench_lab.postgres import Postgres, PostgresSettings
from clusterbench_lab.s3 import S3Server
from clusterbench_lab.server import Server
from clusterbench_lab.ssh import SshHost
from clusterbench_lab.temporary import borrow_programs

MACHINES = ("client", "etl", "db1", "s3")
"""Named as a lab's, so that one whose maker was killed is taken down as labs are."""
FIRST = 200
"""The last byte of the first one's address, which no server of the lab has."""
PASSWORD = "of-the-owner"
SOMEBODY_S_KEY = "ssh-ed25519 AAAA somebody else\n"
"""Which each login has let in before, and after."""


class Place(Layout):
    def address(self, machine: str) -> str:
        return f"127.0.{self.block}.{FIRST + MACHINES.index(machine)}"

    @property
    def client_key(self) -> Path:
        """The user's own, whose public half is let in everywhere."""
        return self.lab_dir / "user_key"


class Machine(SshHost):
    @property
    def home(self) -> Path:
        made = self.host_dir / "home"
        self.account.make_directory(made)
        return made


@dataclass(frozen=True)
class Cluster:
    folder: Path
    account: Account
    hosts: dict[str, Machine]
    database: Postgres
    storage: S3Server

    def let_in(self, public_key: Path) -> None:
        """As ssh-copy-id does, on each host; an sshd reads it at every login."""
        for host in self.hosts.values():
            self.account.write(host.host_dir / "ssh/authorized_keys", public_key.read_text())
            self.account.make_directory(host.home / ".ssh")
            self.account.write(host.home / ".ssh/authorized_keys", SOMEBODY_S_KEY + public_key.read_text())

    def make_database(self, name: str) -> None:
        """Empty, of the superuser, who has the name of the login."""
        at = self.database
        with psycopg.connect(
            host=at.address, port=at.port, user=at.settings.role, password=PASSWORD, dbname="postgres", autocommit=True
        ) as session:
            session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


@contextmanager
def cluster(block: int) -> Iterator[Cluster]:
    """Up on entry; down and removed on exit. Below the system's folder for temporary files, as a lab is."""
    folder = Path(tempfile.mkdtemp(prefix=f"clusterbench-lab-{os.getpid()}-"))
    folder.chmod(0o711)
    place, account = Place(folder, block), server_account()
    for name in ("hosts", "run"):
        (folder / name).mkdir(mode=0o711)
    place.client_key.with_suffix(".pub").write_text("none yet\n")
    credentials = Credentials.load_or_make(folder / "credentials.json")
    hosts = {name: Machine(name, place, account) for name in MACHINES[:-1]}
    database = Postgres(
        "db1_postgres", "db1", place, account, password=PASSWORD, settings=PostgresSettings(account.name)
    )
    storage = S3Server(place, account, credentials)
    servers: list[Server] = [*hosts.values(), database, storage]
    try:
        borrow_programs(folder)
        for server in servers:
            server.up()
        yield Cluster(folder, account, hosts, database, storage)
    finally:
        for server in servers:
            server.down()
        shutil.rmtree(folder, ignore_errors=True)
