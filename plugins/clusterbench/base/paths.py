"""Where the project's own files are."""

from __future__ import annotations

import os
from pathlib import Path


def lab_dir() -> Path:
    """Where the lab on this machine is kept."""
    return Path(os.environ.get("CLUSTERBENCH_LAB_DIR") or project_root() / ".lab")


def project_root() -> Path:
    """The folder that holds ``dags`` and ``include``; CLUSTERBENCH_ROOT where the package is installed elsewhere."""
    configured = os.environ.get("CLUSTERBENCH_ROOT")
    return Path(configured) if configured else Path(__file__).resolve().parents[3]
