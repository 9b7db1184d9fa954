"""What a host can be in a cluster."""

from typing import Literal

Role = Literal["client", "etl", "coordinator", "segment", "namenode", "resourcemanager", "worker"]
DRIVERS = frozenset({"client", "etl"})
"""Of hosts that put load on a cluster; one with no other role may serve several."""
