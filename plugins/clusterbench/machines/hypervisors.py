"""Which hypervisor makes a platform's machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clusterbench.base.connections import Connections
from clusterbench.machines.provider import Hypervisor, Say
from clusterbench.spec.machines import Machines


@contextmanager
def hypervisor_of(machines: Machines, connections: Connections, say: Say | None = None) -> Iterator[Hypervisor]:
    """Logged in. With ``say`` it is a dry run: calls that would change something are said instead."""
    from clusterbench.machines.vsphere import VSphere  # noqa: PLC0415  what DAG files need not import

    with VSphere.of(connections(machines.connection), machines.ready_minutes * 60, say) as opened:
        yield opened
