"""What is measured of a host by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from clusterbench.base.measurements import About, MeasurementKind

OWN = "the host itself"
KINDS: Mapping[str, MeasurementKind] = {
    "processor_events_per_s": MeasurementKind(
        "1/s",
        "processors",
        "higher",
        about=About("Events of `sysbench cpu` with a thread for each processor, per second.", OWN),
    ),
    "memory_mib_per_s": MeasurementKind(
        "MiB/s",
        "memory",
        "higher",
        about=About("What `sysbench memory` moves in blocks of 1 MiB, with a thread for each processor.", OWN),
    ),
    "disk_write_mib_per_s": MeasurementKind(
        "MiB/s",
        "disk, writing",
        "higher",
        about=About("What fio writes to one file in blocks of 1 MiB, 16 at once, past the file system's cache.", OWN),
    ),
    "disk_read_mib_per_s": MeasurementKind(
        "MiB/s", "disk, reading", "higher", about=About("Likewise, what fio reads of that file.", OWN)
    ),
    "network_sent_mibit_per_s": MeasurementKind(
        "Mib/s", "network, sending", "higher", about=About("What it sends to another host by iperf3.", OWN)
    ),
    "network_received_mibit_per_s": MeasurementKind(
        "Mib/s", "network, receiving", "higher", about=About("What it receives from another host by iperf3.", OWN)
    ),
}
FOLDER = "_host_speeds/"
"""Below it a folder for each platform, and in it an object for each time that its hosts were measured."""
