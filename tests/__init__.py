"""The tests mirror the package; ``integration`` and ``lab`` start real servers. See docs/develop.md."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
"""Captured real output, and YAML files that are valid and invalid."""
