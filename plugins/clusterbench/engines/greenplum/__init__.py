"""Greenplum and its family."""

from clusterbench.engines.greenplum.engine import ENGINE

__all__ = ["ENGINE"]
