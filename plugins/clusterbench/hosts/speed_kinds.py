"""What is measured of a host by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from clusterbench.base.measurements import MeasurementKind

KINDS: Mapping[str, MeasurementKind] = {
    "processor_events_per_s": MeasurementKind("1/s", "processors", "higher"),
    "memory_mib_per_s": MeasurementKind("MiB/s", "memory", "higher"),
    "disk_write_mib_per_s": MeasurementKind("MiB/s", "disk, writing", "higher"),
    "disk_read_mib_per_s": MeasurementKind("MiB/s", "disk, reading", "higher"),
    "network_sent_mibit_per_s": MeasurementKind("Mib/s", "network, sending", "higher"),
    "network_received_mibit_per_s": MeasurementKind("Mib/s", "network, receiving", "higher"),
}
FOLDER = "_host_speeds/"
"""Below it a folder for each platform, and in it an object for each time that its hosts were measured."""
