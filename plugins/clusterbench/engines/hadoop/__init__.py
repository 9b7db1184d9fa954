"""Hadoop: its configuration, its daemons, and how its own reports are read."""

from clusterbench.engines.hadoop.engine import ENGINE

__all__ = ["ENGINE"]
