"""A program in place of psql or pgbench, as new as drivers want it."""

from __future__ import annotations

from pathlib import Path


def stand_in(folder: Path, name: str, does: str) -> None:
    """``does`` is bash; what it says of its version is not noted."""
    text = f'#!/bin/bash\n[ "$1" != --version ] || {{ echo "{name} (PostgreSQL) 17.1"; exit; }}\n{does}\n'
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
