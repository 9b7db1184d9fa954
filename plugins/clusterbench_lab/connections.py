"""How everything else finds the lab: Airflow connections, in one file only its owner may read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clusterbench.base.errors import LabError
from clusterbench_lab.account import write_private
from clusterbench_lab.layout import BUCKET, DATABASE, FIRST_PORT, HISTORY, Layout
from clusterbench_lab.postgres import Postgres
from clusterbench_lab.s3 import S3Server
from clusterbench_lab.ssh import SshHost
from clusterbench_lab.vcenter import USER, VCenter


def write_connections(
    layout: Layout,
    hosts: Sequence[SshHost],
    databases: Sequence[Postgres],
    s3: S3Server,
    metadata: Postgres,
    *,
    vcenter: VCenter,
) -> None:
    connections = {f"lab_{host.name}": _ssh(layout, host) for host in hosts}
    connections |= {f"lab_{database.name}": _postgres(database) for database in databases}
    if layout.port("vcenter"):
        connections |= _of_machines(layout, next(iter(hosts)), next(iter(databases)), vcenter)
    connections["clusterbench_archive"] = _s3(s3)
    connections["clusterbench_history"] = {
        **_postgres(metadata),
        "login": HISTORY,
        "password": s3.credentials.history_password,
        "schema": HISTORY,
    }
    text = json.dumps(connections | _own(layout), indent=2) + "\n"
    # Tasks may be reading it: it is replaced in one step, and only when something changed.
    path = layout.connections_file
    if not path.exists() or path.read_text() != text:
        write_private(path, text)


def _own(layout: Layout) -> dict[str, Any]:
    """What somebody added: a mail server, a webhook (docs/operate.md)."""
    path = layout.connections_file.with_name("own_connections.json")
    try:
        return dict(json.loads(path.read_text()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LabError(f"{path}: is no JSON object: {error}") from None


def _ssh(layout: Layout, host: SshHost) -> dict[str, Any]:
    return {
        "conn_type": "ssh",
        "host": host.address,
        "port": host.port,
        "login": host.account.name,
        "extra": {
            "key_file": str(layout.client_key),
            "host_key": host.host_key(),
            "no_host_key_check": False,
            "work_dir": str(host.work_dir),
        },
    }


def _of_machines(layout: Layout, host: SshHost, database: Postgres, vcenter: VCenter) -> dict[str, Any]:
    """The vCenter, and a login and a database of guests, whose addresses are theirs to tell."""
    ca = vcenter.certificate.read_text()
    return {
        "lab_vcenter": {
            "conn_type": "generic",
            "host": vcenter.address,
            "port": vcenter.port,
            "login": USER,
            "password": vcenter.password,
            "extra": {"ca": ca, "samples_late_s": 0},
        },
        "lab_guest": {
            "conn_type": "ssh",
            "port": FIRST_PORT["ssh"],
            "login": host.account.name,
            "extra": {"key_file": str(layout.client_key), "no_host_key_check": False},
        },
        "lab_guest_postgres": {
            "conn_type": "postgres",
            "port": FIRST_PORT["postgres"],
            "login": database.settings.role,
            "password": database.password,
            "schema": DATABASE,
        },
    }


def _postgres(database: Postgres) -> dict[str, Any]:
    return {
        "conn_type": "postgres",
        "host": database.address,
        "port": database.port,
        "login": database.settings.role,
        "password": database.password,
        "schema": DATABASE,
    }


def _s3(s3: S3Server) -> dict[str, Any]:
    return {
        "conn_type": "aws",
        "login": s3.credentials.s3_access_key,
        "password": s3.credentials.s3_secret_key,
        "extra": {"endpoint_url": s3.endpoint_url, "bucket": BUCKET, "region_name": "us-east-1"},
    }
