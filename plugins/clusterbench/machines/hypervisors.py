"""Which hypervisor makes a platform's machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import MachineError
from clusterbench.machines.provider import Hypervisor, Say
from clusterbench.spec.machines import Machines


def keeps_samples(machines: Machines) -> bool:
    """Whether the hypervisor can tell of a window afterwards. Else its totals are noted before and after."""
    return machines.provider == "vsphere"


@contextmanager
def hypervisor_of(machines: Machines, connections: Connections, say: Say | None = None) -> Iterator[Hypervisor]:
    """Logged in. With ``say`` it is a dry run: calls that would change something are said instead."""
    connection, within_s = connections(machines.connection), machines.ready_minutes * 60
    with _of(machines.provider, connection, within_s, say) as opened:
        yield opened


def _of(provider: str, connection: Connection, within_s: float, say: Say | None) -> AbstractContextManager[Hypervisor]:
    """What DAG files need not import is imported here."""
    try:
        if provider == "libvirt":
            from clusterbench.machines.libvirt_hosts import Libvirt  # noqa: PLC0415

            return Libvirt.of(connection, within_s, say)
        from clusterbench.machines.vsphere import VSphere  # noqa: PLC0415

        return VSphere.of(connection, within_s, say)
    except ModuleNotFoundError as error:
        raise MachineError(
            f"machines.provider: {provider} needs the Python package {error.name!r}, which this worker has not: "
            f"pip install 'clusterbench[{provider}]' (docs/machines.md)"
        ) from None
