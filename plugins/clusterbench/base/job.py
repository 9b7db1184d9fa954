"""What runs detached on a host, and its output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """What runs on the client host: files, and a command among them. ``secrets`` are deleted when it ends."""

    files: Mapping[str, str]
    secrets: Mapping[str, str]
    command: str
    """Lines of bash, run in the job's directory."""


def json_of(path: Path) -> dict[str, Any]:
    """A file of a driver's output; empty where it is not there."""
    return dict(json.loads(path.read_text())) if path.exists() else {}
