"""The lab with Airflow: closed to the outside and to strangers, and a killed scheduler comes back."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from clusterbench_lab import Lab

from .looking import alive, files_with_secrets, listening, processes_of

pytestmark = pytest.mark.lab


def token(lab: Lab, user: str, password: str) -> str:
    request = urllib.request.Request(
        f"{lab.airflow_url()}/auth/token",
        data=json.dumps({"username": user, "password": password}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["access_token"]


def children_of(pid: int) -> set[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for children in lists for child in children.read_text().split()}


def test_airflow_in_the_lab(lab_with_airflow: Lab) -> None:
    lab = lab_with_airflow
    assert {server.state for server in lab.status()} == {"running"}

    # Only who knows the password gets in.
    assert token(lab, *lab.airflow_login())
    with pytest.raises(urllib.error.HTTPError, match="401"):
        token(lab, "admin", "admin")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{lab.airflow_url()}/api/v2/dags", timeout=30)

    # A scheduler killed outright leaves its workers behind; a new one starts, and they are gone.
    before = lab.pid("scheduler")
    orphans = children_of(before)
    assert orphans
    os.kill(before, signal.SIGKILL)
    lab.start_server("scheduler")
    assert lab.pid("scheduler") not in (None, before)
    assert [pid for pid in orphans if alive(pid)] == []
    assert {server.state for server in lab.status()} == {"running"}

    # Nothing beyond this machine, no secret where it can be read.
    addresses = listening(processes_of(lab))
    assert "127.0.0.1" in addresses
    assert all(address.startswith("127.0.") for address in addresses), addresses
    found = files_with_secrets(lab)
    assert {"airflow.cfg", "simple_auth_manager_passwords.json.generated"} <= {path.name for path in found}
    assert [path for path in found if path.suffix == ".log" or path.stat().st_mode & 0o077] == []

    lab.down()
    assert processes_of(lab) == set()
