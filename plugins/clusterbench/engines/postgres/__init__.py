"""PostgreSQL."""

from clusterbench.engines.postgres.engine import ENGINE

__all__ = ["ENGINE"]
