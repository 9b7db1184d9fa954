"""What a host can be in a cluster."""

from typing import Literal

Role = Literal["client", "load", "etl", "coordinator", "segment", "namenode", "resourcemanager", "worker"]
DRIVERS = frozenset({"client", "load", "etl"})
"""Of hosts that put load on a cluster; one with no other role may serve several."""
