"""The field's PostgreSQL: on its data network, over TLS only, with a client certificate; somebody else's to restart.

On a real host systemd would run it as a unit. No systemd can safely be booted here, so two things stand for it: the
server is in a control group of the name that systemd would give it, by which ``/proc/PID/cgroup`` tells the unit, and
the host's ``/usr/bin/systemctl`` is a script that starts and stops that one unit, for root only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.field.certificates import Authority, Signed
from tests.field.hosts import LANGUAGE, USER, Host

SERVICE = "postgresql@field.service"
PORT = 5432
NAME = "db1.field"
"""The host of the database's connection, which is in the server's certificate: its address of the data network."""
ROLE, DATABASE = "measurer", "bench"
GROUPS = next(path for path in (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup")) if path.is_dir())
"""Where systemd has its control groups: a hierarchy of its own, or version 2."""
END_S = 30

# systemd, too, lets what was stopped by a signal go on, so that it hears that it is to end.
SYSTEMCTL = """\
#!/bin/bash
# Stands for a systemd, which cannot be booted in a namespace: it knows one unit, and how to start and stop it.
set -eu
case "${{2-}}" in {service} | {unit}) ;; *) echo "Unit ${{2-}} not found." >&2; exit 5 ;; esac
pid() {{ head -n 1 {data}/postmaster.pid 2>/dev/null; }}
active() {{ kill -0 "$(pid)" 2>/dev/null; }}
as_owner() {{
  cd /
  exec setpriv --reuid={user} --regid={user} --init-groups \\
    env -i PATH=/usr/bin:/bin HOME=/ LANG={language} {program}/pg_ctl -D {data} -w "$@" >/dev/null </dev/null
}}
if [ "$1" = is-active ]; then
  if active; then echo active; else echo inactive; exit 3; fi
  exit
fi
[ "$(id -u)" = 0 ] || {{ echo "Failed to $1 $2: Interactive authentication required." >&2; exit 1; }}
case "$1" in
  start) active || (echo "$BASHPID" >{group}/cgroup.procs; as_owner -t 60 -l {data}/start.log start) ;;
  stop) ! active || (kill -CONT $(cat {group}/cgroup.procs); as_owner -t 60 -m fast stop) ;;
  *) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
"""
MAKE = """\
set -eu; export LANG={language}
{program}/initdb -D {data} -U {role} --pwfile={own}/role_password --auth=scram-sha-256 >/dev/null
cat {own}/postgresql.conf >>{data}/postgresql.conf
cp {own}/pg_hba.conf {data}/pg_hba.conf
echo 'CREATE DATABASE {database}' | {program}/postgres --single -D {data} postgres >/dev/null
"""
SETTINGS = """\
listen_addresses = '{address}'
port = {port}
unix_socket_directories = ''
password_encryption = 'scram-sha-256'
ssl = on
ssl_cert_file = '{own}/server.crt'
ssl_key_file = '{own}/server.key'
ssl_ca_file = '{own}/root.crt'
logging_collector = on
"""
HBA = "hostssl all all 0.0.0.0/0 scram-sha-256 clientcert=verify-full\n"


@dataclass(frozen=True)
class Database:
    """``measurer`` is whom the certificate of a session must name."""

    own: Path
    program: Path
    authority: Authority
    measurer: Signed
    password: str = field(repr=False)

    @property
    def data(self) -> Path:
        return self.own / "data"


def systemctl(database: Database, group: Path) -> str:
    """The text of the host's ``/usr/bin/systemctl``."""
    return SYSTEMCTL.format(
        service=SERVICE,
        unit=SERVICE.removesuffix(".service"),
        data=database.data,
        program=database.program,
        group=group,
        user=USER,
        language=LANGUAGE,
    )


def write(own: Path, program: Path, address: str, user_id: int, password: str) -> Database:
    """What the server is made from; made and started where its host is up."""
    authority = Authority("The field's authority")
    server = authority.sign(NAME, [NAME])
    made = Database(own, program, authority, authority.sign(ROLE), password)
    files = {
        "root.crt": authority.certificate,
        "server.crt": server.certificate,
        "server.key": server.key,
        "role_password": password,
        "pg_hba.conf": HBA,
        "postgresql.conf": SETTINGS.format(address=address, port=PORT, own=own),
    }
    own.mkdir()
    _give(own, user_id)
    for name, text in files.items():
        (own / name).write_text(text)
        _give(own / name, user_id)
    return made


def start(database: Database, host: Host) -> None:
    values = {"data": database.data, "program": database.program, "own": database.own}
    host.run(MAKE.format(**values, language=LANGUAGE, role=ROLE, database=DATABASE), user=USER)
    host.run(f"systemctl start {SERVICE}")


@contextmanager
def control_groups(top_name: str, *names: str) -> Iterator[list[Path]]:
    """Groups of the field's own, by name; they go when the last process in them has ended."""
    top = GROUPS / top_name
    made = [top / name for name in names]
    for group in made:
        group.mkdir(parents=True)
    try:
        yield made
    finally:
        remove_groups(top)


def remove_groups(top: Path) -> None:
    """With all below it."""
    for group in [*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top]:
        _remove(group)


def _remove(group: Path) -> None:
    """A process that was killed is counted for a moment."""
    until = time.monotonic() + END_S
    while True:
        try:
            group.rmdir()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _give(path: Path, user_id: int) -> None:
    path.chmod(0o700 if path.is_dir() else 0o600)
    os.chown(path, user_id, user_id)
