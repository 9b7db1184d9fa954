"""The tests mirror the package; ``integration`` and ``lab`` start real servers. See docs/develop.md."""

from __future__ import annotations

import os
from pathlib import Path

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
"""Which of the processes that run tests side by side this is; the only one is the first."""

BLOCKS_EACH = 4
BLOCK = int(os.environ.get("CLUSTERBENCH_TEST_BLOCK", "77")) + BLOCKS_EACH * WORKER
"""The labs of a process are on 127.0.BLOCK.x and the next three, so that those of several stand side by side."""

FIXTURES = Path(__file__).parent / "fixtures"
"""Captured real output, and YAML files that are valid and invalid."""
