"""Connections by id: from the file, from variables, from parts; secrets stay out of sight."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.connections import Connection, from_file, from_parts, local_connections
from clusterbench.base.errors import ClusterbenchError

PARTS: dict[str, Any] = {
    "host": "db.example",
    "port": 5432,
    "login": "bench",
    "password": "s3cr:et",
    "schema": "data",
    "extra": {"key_file": "/secret/key"},
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CLUSTERBENCH_CONNECTIONS", raising=False)
    path = tmp_path / "connections.json"
    path.write_text(json.dumps({"lab_db1": PARTS, "lab_client": {"host": "c"}}))
    return path


def test_connection_has_its_parts(file: Path) -> None:
    found = from_file(file)("lab_db1")
    assert (found.id, found.host, found.port, found.login) == ("lab_db1", "db.example", 5432, "bench")
    assert (found.password, found.schema, found.extra) == ("s3cr:et", "data", {"key_file": "/secret/key"})


def test_what_a_connection_lacks_is_empty(file: Path) -> None:
    assert from_file(file)("lab_client") == Connection("lab_client", "c", None, "", "", "", {})


def test_secrets_are_not_in_its_text(file: Path) -> None:
    said = repr(from_file(file)("lab_db1"))
    assert "s3cr" not in said
    assert "/secret" not in said
    assert "db.example" in said


def test_extra_may_be_a_json_text_and_the_port_a_text() -> None:
    found = from_parts("x", {"extra": '{"bucket": "b"}', "port": "9000"})
    assert (found.extra, found.port) == ({"bucket": "b"}, 9000)


def test_variable_goes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAB_DB1", json.dumps({**PARTS, "host": "other"}))
    assert from_file(file)("lab_db1").host == "other"
    monkeypatch.setenv("AIRFLOW_CONN_ONLY_HERE", json.dumps({"host": "here"}))
    assert from_file(file)("only_here").host == "here"


def test_unknown_connection_is_refused_with_a_suggestion(file: Path) -> None:
    with pytest.raises(
        ClusterbenchError, match=r"unknown connection 'lab_db'; did you mean 'lab_db1'\? Allowed: lab_c"
    ):
        from_file(file)("lab_db")


def test_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ClusterbenchError, match=r"none\.json: no such file.*make up.*CLUSTERBENCH_CONNECTIONS"):
        from_file(tmp_path / "none.json")


def test_file_that_is_not_json_is_refused(file: Path) -> None:
    file.write_text("{")
    with pytest.raises(ClusterbenchError, match=r"connections\.json: is not JSON: .*line 1"):
        from_file(file)


@pytest.mark.parametrize("value", ["not json", "postgres://bench:s3cr@db/data"])
def test_variable_that_is_not_json_is_refused_without_its_secret(
    file: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAB_DB1", value)
    with pytest.raises(ClusterbenchError, match=r"AIRFLOW_CONN_LAB_DB1: is not JSON") as caught:
        from_file(file)("lab_db1")
    assert "s3cr" not in str(caught.value)


def test_connections_come_from_the_lab_unless_configured(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_connections(file.parent)("lab_client").host == "c"
    other = file.with_name("other.json")
    other.write_text(json.dumps({"lab_client": {"host": "elsewhere"}}))
    monkeypatch.setenv("CLUSTERBENCH_CONNECTIONS", str(other))
    assert local_connections(file.parent)("lab_client").host == "elsewhere"


def test_needed_extra_is_given(file: Path) -> None:
    assert from_file(file)("lab_db1").need("key_file", "the key") == "/secret/key"


@pytest.mark.parametrize("extra", [{}, {"key_file": ""}, {"key_file": 7}])
def test_needed_extra_that_is_not_there_says_what_it_is_for(extra: dict[str, Any]) -> None:
    connection = from_parts("lab_db1", {"extra": extra})
    with pytest.raises(ClusterbenchError, match=r"'lab_db1': its extra has no 'key_file', the key to log in with; add"):
        connection.need("key_file", "the key to log in with")
