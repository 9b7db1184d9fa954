"""A program in place of psql or pgbench, as new as drivers want it; and what the client host does to pgbench's log."""

from __future__ import annotations

import subprocess
from pathlib import Path

from clusterbench.drivers import pgbench_log


def stand_in(folder: Path, name: str, does: str) -> None:
    """``does`` is bash; what it says of its version is not noted."""
    text = f'#!/bin/bash\n[ "$1" != --version ] || {{ echo "{name} (PostgreSQL) 17.1"; exit; }}\n{does}\n'
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def reduce_log(folder: Path) -> None:
    """pgbench's log in the folder is made small, as on the client host."""
    for name, text in pgbench_log.files().items():
        (folder / name).write_text(text)
    script = f"set -euo pipefail\n{pgbench_log.functions()}reduce_log"
    subprocess.run(["bash", "-c", script], cwd=folder, check=True)
