"""Airflow's connections out of a file: the same as Airflow itself reads there, but each alone."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from airflow.models.connection import Connection
from airflow.secrets.local_filesystem import LocalFilesystemBackend

from clusterbench.airflow import connections_file
from clusterbench.airflow.connections_file import ConnectionsFile

SSH = {"conn_type": "ssh", "host": "10.0.0.1", "login": "gpadmin", "port": 22, "extra": {"private_key": "a\nb"}}
S3 = {"conn_type": "aws", "login": "me", "password": 'it\'s "%5"', "extra": json.dumps({"bucket": "b"})}
URI = "postgresql://me:secret@10.0.0.2:5432/bench?sslmode=verify-full"
PARTS = ("conn_id", "conn_type", "host", "login", "password", "port", "schema", "extra_dejson")


def written(folder: Path, connections: dict[str, Any]) -> Path:
    path = folder / "connections.json"
    path.write_text(json.dumps(connections))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path, {"host": SSH, "archive": S3, "database": URI})


def parts(connection: Connection | None) -> dict[str, Any]:
    assert connection is not None
    return {part: getattr(connection, part) for part in PARTS}


@pytest.mark.parametrize("conn_id", ["host", "archive", "database"])
def test_a_connection_is_what_airflow_itself_reads(path: Path, conn_id: str) -> None:
    theirs = LocalFilesystemBackend(connections_file_path=str(path)).get_connection(conn_id)
    assert parts(ConnectionsFile(str(path)).get_connection(conn_id)) == parts(theirs)


def test_what_is_not_in_the_file_is_looked_for_elsewhere(path: Path) -> None:
    assert ConnectionsFile(str(path)).get_connection("nobody") is None


def test_a_changed_file_is_read_again(path: Path) -> None:
    backend = ConnectionsFile(str(path))
    assert backend.get_connection("host") is not None
    written(path.parent, {"host": {**SSH, "host": "10.0.0.99"}})
    assert parts(backend.get_connection("host"))["host"] == "10.0.0.99"


def test_the_file_is_read_once_for_all_hosts_and_only_what_is_asked_for_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [f"host{number}" for number in range(640)]
    backend = ConnectionsFile(str(written(tmp_path, dict.fromkeys(hosts, SSH))))
    reads: list[str] = []
    monkeypatch.setattr(
        connections_file.json, "loads", lambda text: reads.append(text) or json.JSONDecoder().decode(text)
    )
    assert [backend.get_conn_value(host) for host in hosts] == [json.dumps(SSH)] * 640
    assert len(reads) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (Path.unlink, "No such file or directory"),
        (lambda path: path.write_text("{"), "Expecting property name"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    path: Path, caplog: pytest.LogCaptureFixture, spoil: Any, said: str
) -> None:
    spoil(path)
    with caplog.at_level(logging.ERROR), pytest.raises((OSError, ValueError)):
        ConnectionsFile(str(path)).get_connection("host")
    assert caplog.text.count(f"no connection can be read from {path}: ") == 1 and said in caplog.text
