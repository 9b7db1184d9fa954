"""install.sh, without installing anything: what it says when it may not, and that it is quick when all is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench_lab.account import server_account
from clusterbench_lab.layout import PROJECT_DIR


@pytest.fixture
def project() -> Iterator[Path]:
    """A copy of what install.sh reads, where an ordinary user may read it too."""
    root = Path(tempfile.mkdtemp(prefix="clusterbench-install-"))
    shutil.copytree(PROJECT_DIR / "include" / "lab", root / "include" / "lab")
    (root / "requirements.lock").write_text("")
    root.chmod(0o755)
    yield root
    shutil.rmtree(root)


def install(project: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = {"PATH": "/usr/bin:/bin", **environment}
    command = ["sh", str(project / "include" / "lab" / "install.sh")]
    user = {"user": server_account().user_id, "extra_groups": []} if os.geteuid() == 0 else {}
    return subprocess.run(command, env=path, capture_output=True, text=True, check=False, **user)


def test_missing_packages_are_named_with_the_command(project: Path) -> None:
    """A sudo that asks for a password is as good as none: nobody sits there to type it."""
    (project / "sudo").write_text("#!/bin/sh\necho 'a password is required' >&2\nexit 1\n")
    (project / "sudo").chmod(0o755)
    (project / "include" / "lab" / "packages").write_text("/usr/bin/no-such-program no-such-package\n")
    done = install(project, PATH=f"{project}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "sudo apt-get install --no-install-recommends no-such-package" in done.stderr
    assert not (project / ".venv").exists()


def test_a_python_too_old_is_named(project: Path) -> None:
    (project / "include" / "lab" / "packages").write_text("# nothing\n")
    done = install(project, PYTHON="/bin/false")
    assert done.returncode == 1
    assert "allowed are Python 3.11, 3.12 and 3.13" in done.stderr
