"""``clusterbench discover``: what is written where, beside what the cluster tells; the cluster itself is made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterbench.base.connections import Connection, from_parts
from clusterbench.cli.main import main
from clusterbench.engines import discovery

NOBODY = "127.0.0.1"
"""Where no sshd is at port 1."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert main(["init", str(tmp_path / "bench")]) == 0
    monkeypatch.chdir(tmp_path / "bench")
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(tmp_path / "no_lab"))
    monkeypatch.delenv("CLUSTERBENCH_CONNECTIONS", raising=False)
    own = {"db": {"conn_type": "postgres", "host": NOBODY, "login": "me", "schema": "bench"}}
    Path("connections.json").write_text(json.dumps(own))

    def made_up(name: str, database: Connection, access: discovery.Access) -> discovery.Discovered:
        return discovery.postgres(name, from_parts(database.id, own["db"]), {}, access)

    monkeypatch.setattr(discovery, "of_database", made_up)
    return tmp_path / "bench"


def test_connections_are_added_to_the_project_s_own_and_written_over_by_nobody(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["discover", "mine", "--database", "db", "--login", "me", "--client", "c", "--etl", "e", "--add"]
    assert main(asked) == 0
    file = project / "connections.json"
    assert list(json.loads(file.read_text())) == ["db", "mine_client", "mine_etl", "mine_db"]
    assert oct(file.stat().st_mode)[-3:] == "600"
    assert "3 connections added" in capsys.readouterr().out
    (project / "include/platforms/mine.yaml").unlink()
    before = file.read_text()
    assert main(asked) == 1
    assert "has a connection 'mine_client' already" in capsys.readouterr().err
    assert file.read_text() == before and not (project / "include/platforms/mine.yaml").exists()


def test_host_that_shows_no_key_is_named_and_keeps_its_blank(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "mine", "--database", "db", "--ssh-port", "1", "--host-keys"]) == 0
    said = capsys.readouterr().out
    assert f"  mine_db                  no key: {NOBODY}:1: " in said
    assert "mine_client  " not in said, "nobody knows its address"
    made = json.loads((project / "mine_connections.json").read_text())
    assert made["mine_db"]["extra"]["host_key"].startswith("FILL IN")
