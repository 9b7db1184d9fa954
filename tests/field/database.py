"""The field's PostgreSQL: on its data network, over TLS only, with a client certificate; somebody else's to restart.

A unit of the host's systemd runs it, as a distribution's would.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.field.certificates import Authority, Signed
from tests.field.hosts import LANGUAGE, USER, Host

SERVICE = "postgresql@field.service"
PORT = 5432
NAME = "db1.field"
"""The host of the database's connection, which is in the server's certificate: its address of the data network."""
ROLE, DATABASE = "measurer", "bench"
UNIT = """\
[Unit]
Description=PostgreSQL of the field
After=network.target

[Service]
Type=forking
User={user}
Environment=LANG={language}
ExecStart={program}/pg_ctl -D {data} -w -t 3600 -l {data}/start.log start
TimeoutStartSec=infinity
ExecStop={program}/pg_ctl -D {data} -w -t 3600 -m fast stop
TimeoutStopSec=1h
PIDFile={data}/postmaster.pid
OOMScoreAdjust=-900

[Install]
WantedBy=multi-user.target
"""
"""As Debian's ``postgresql@.service`` says it, whose ``pg_ctlcluster`` calls ``pg_ctl``: nothing restarts it."""
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
    values = {"data": database.data, "program": database.program, "language": LANGUAGE}
    host.run(MAKE.format(**values, own=database.own, role=ROLE, database=DATABASE), user=USER)
    unit = UNIT.format(**values, user=USER)
    host.run(f"cat >/etc/systemd/system/{SERVICE} <<'END'\n{unit}END\nsystemctl enable --now --quiet {SERVICE}")


def _give(path: Path, user_id: int) -> None:
    path.chmod(0o700 if path.is_dir() else 0o600)
    os.chown(path, user_id, user_id)
