"""The lab with Airflow: closed to the outside and to strangers, and a killed scheduler comes back by itself."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clusterbench_lab import Lab
from clusterbench_lab.processes import facts_of

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


def state_of(lab: Lab, name: str) -> tuple[str, int | None]:
    return next((server.state, server.pid) for server in lab.status() if server.name == name)


def heartbeats(lab: Lab) -> list[datetime]:
    """The last of each part that has any; none while Airflow cannot tell."""
    health = lab.parts.airflow.health()
    parts = ("scheduler", "dag_processor", "triggerer")
    found = [health.get(part, {}).get(f"latest_{part}_heartbeat") for part in parts]
    return [datetime.fromisoformat(each) for each in found] if all(found) else []


@pytest.mark.long
def test_airflow_in_the_lab(lab_with_airflow: Lab) -> None:
    lab = lab_with_airflow
    assert {server.state for server in lab.status()} == {"running"}

    # Only who knows the password gets in.
    assert token(lab, *lab.airflow_login())
    with pytest.raises(urllib.error.HTTPError, match="401"):
        token(lab, "admin", "admin")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{lab.airflow_url()}/api/v2/dags", timeout=30)

    # A scheduler killed outright leaves its workers behind; a new one starts by itself, and they are gone.
    before = lab.pid("scheduler")
    orphans = children_of(before)
    assert orphans
    os.kill(before, signal.SIGKILL)
    killed = time.monotonic()
    assert state_of(lab, "scheduler") == ("starting", None)
    while lab.pid("scheduler") is None:
        assert time.monotonic() < killed + 30, "nobody has started the scheduler again"
        time.sleep(0.1)
    assert lab.pid("scheduler") != before
    assert [pid for pid in orphans if alive(pid)] == []
    while {server.state for server in lab.status()} != {"running"}:
        assert time.monotonic() < killed + 150, lab.status()
        time.sleep(0.5)

    # Its database is restarted under it: what ends by that comes back by itself, too.
    lab.stop_server("metadata")
    lab.start_server("metadata")
    restarted = datetime.now(UTC)
    while min(heartbeats(lab), default=restarted) <= restarted:
        assert datetime.now(UTC) < restarted + timedelta(seconds=150), lab.status()
        time.sleep(0.5)

    # What was stopped stays stopped.
    lab.stop_server("triggerer")
    time.sleep(5)
    assert state_of(lab, "triggerer") == ("stopped", None)
    assert not [pid for pid in processes_of(lab) if b"triggerer" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    # Who wants a part dead kills the shell that keeps it running first; `up` ends what is left and starts both anew.
    orphan = lab.pid("dag-processor")
    os.kill(facts_of(orphan).parent_pid, signal.SIGKILL)
    while state_of(lab, "dag-processor") != ("died", None):
        time.sleep(0.1)
    assert alive(orphan)
    lab.up()
    assert not alive(orphan)
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
