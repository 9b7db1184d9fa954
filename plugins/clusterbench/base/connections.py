"""Addresses and secrets, by connection id. Kept by Airflow; read here from the same file or variables it uses.

Tasks hand in Airflow's own connections (``tasks.py``); the command line reads the file that
``AIRFLOW__SECRETS__BACKEND`` points Airflow to, or ``AIRFLOW_CONN_<ID>`` variables in JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterbench.base.errors import ClusterbenchError, suggest
from clusterbench.base.paths import PROJECT_FILE, project_root

FILE = "connections.json"
HISTORY = "clusterbench_history"
"""Of the history database; what is only derived, so that an installation may do without."""


@dataclass(frozen=True)
class Connection:
    """One connection; its secrets stay out of ``repr``, and so out of logs and tracebacks."""

    id: str
    host: str
    port: int | None
    login: str
    password: str = field(repr=False)
    schema: str
    extra: dict[str, Any] = field(repr=False)

    def need(self, key: str, why: str) -> str:
        """A text of ``extra``, or an error that says what it is for."""
        value = self.extra.get(key)
        if not value or not isinstance(value, str):
            raise ClusterbenchError(
                f"connection {self.id!r}: its extra has no {key!r}, {why}; add it in Airflow under Admin, Connections"
            )
        return value


Connections = Callable[[str], Connection]
"""From a connection id to the connection. Raises ClusterbenchError when there is none."""


def no_connections(conn_id: str) -> Connection:
    """Where none are known."""
    raise ClusterbenchError(f"unknown connection {conn_id!r}: no connections are known here")


def why_no_history(connections: Connections) -> str:
    """Why this installation has no history database: its connection cannot be found. Empty where it has one."""
    try:
        connections(HISTORY)
    except ClusterbenchError as unknown:
        return str(unknown)
    return ""


def from_parts(conn_id: str, parts: dict[str, Any]) -> Connection:
    """A connection from the keys that Airflow uses: host, port, login, password, schema, extra."""
    extra = parts.get("extra") or {}
    if isinstance(extra, str):
        extra = json.loads(extra)
    port = parts.get("port")
    return Connection(
        id=conn_id,
        host=str(parts.get("host") or ""),
        port=int(port) if port else None,
        login=str(parts.get("login") or ""),
        password=str(parts.get("password") or ""),
        schema=str(parts.get("schema") or ""),
        extra=dict(extra),
    )


def from_airflow(conn_id: str, look_up: Callable[[str], Any]) -> Connection:
    """A connection as Airflow keeps it: in its database, in a secrets backend, or in the environment.

    ``look_up`` is Airflow's own, which differs between a task and the API server.
    """
    try:
        found = look_up(conn_id)
    except Exception as error:  # the lookup raises a type of its own for every backend
        raise ClusterbenchError(
            f"unknown connection {conn_id!r}: add it in Airflow under Admin, Connections ({error})"
        ) from None
    return Connection(
        id=conn_id,
        host=found.host or "",
        port=found.port,
        login=found.login or "",
        password=found.password or "",
        schema=found.schema or "",
        extra=found.extra_dejson,
    )


def from_file(path: Path) -> Connections:
    """Connections of a JSON file in the format of Airflow's local filesystem secrets backend."""
    try:
        known: dict[str, dict[str, Any]] = json.loads(path.read_text())
    except FileNotFoundError:
        raise ClusterbenchError(
            f"{path}: no such file, so no connections are known here; write it, start the lab with 'make up', or set "
            "CLUSTERBENCH_CONNECTIONS to the connections file of your Airflow"
        ) from None
    except PermissionError:
        raise ClusterbenchError(
            f"{path}: this user may not read it; it belongs to the user who started the lab"
        ) from None
    except ValueError as error:
        raise ClusterbenchError(f"{path}: is not JSON: {error}") from None

    def find(conn_id: str) -> Connection:
        name = f"AIRFLOW_CONN_{conn_id.upper()}"
        if variable := os.environ.get(name):
            try:
                return from_parts(conn_id, json.loads(variable))
            except ValueError:  # its text may hold a password, so it is not shown
                raise ClusterbenchError(
                    f"{name}: is not JSON; write it in Airflow's JSON format, with host, port, login, password, extra"
                ) from None
        if conn_id not in known:
            raise ClusterbenchError(f"unknown connection {conn_id!r}{suggest(conn_id, list(known))}")
        return from_parts(conn_id, known[conn_id])

    return find


def local_file(lab_dir: Path) -> Path:
    """That of the command line: CLUSTERBENCH_CONNECTIONS, else the own project's, else the lab's."""
    if configured := os.environ.get("CLUSTERBENCH_CONNECTIONS"):
        return Path(configured)
    own = project_root()
    is_own = (own / PROJECT_FILE).is_file() and not (lab_dir / FILE).exists()
    return (own if is_own else lab_dir) / FILE


def local_connections(lab_dir: Path) -> Connections:
    return from_file(local_file(lab_dir))
