"""Names of what a platform may be unable to do, where engines, hosts and workloads speak of the same."""

from __future__ import annotations

EVERYTHING, ALONE = "everything", "alone"
"""Of what an engine or its hosts may lack: every trial; a load that can be run once only, beside nobody."""
