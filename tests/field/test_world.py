"""The field goes whole: also when whoever made it is killed, with the next field, or with ``remove_orphans``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root
from tests.field import systemd
from tests.field.conftest import needs_field
from tests.field.network import do
from tests.field.world import PREFIX, field, remove_orphans

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600), needs_field]

MAKER = """\
import time
from tests.field.world import field
with field():
    print("up", flush=True)
    time.sleep(600)
"""


def left_of(maker: int) -> list[str]:
    """Folders, control groups with their processes, names of networks, and mounts."""
    places = (Path(tempfile.gettempdir()), *(each.place for each in systemd.hierarchies()))
    folders = [str(path) for place in places for path in place.glob(f"{PREFIX}{maker}-*")]
    networks = [line for line in do("ip", "netns", "list").splitlines() if line.startswith(f"cbf{maker}x")]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"{PREFIX}{maker}-" in line]
    return [*folders, *networks, *mounts]


def test_nothing_stays_behind() -> None:
    with field():
        assert len(left_of(os.getpid())) > len(systemd.hierarchies())
    assert left_of(os.getpid()) == []


def test_nothing_stays_behind_whoever_was_killed() -> None:
    command = [sys.executable, "-c", MAKER]
    search = {"PYTHONPATH": os.pathsep.join(map(str, (project_root(), project_root() / "plugins")))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | search) as maker:
        assert maker.stdout is not None and maker.stdout.readline() == "up\n"
        maker.kill()
    assert len(left_of(maker.pid)) > len(systemd.hierarchies())
    remove_orphans()
    assert left_of(maker.pid) == []
