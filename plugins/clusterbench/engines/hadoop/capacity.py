"""What the workers of a Hadoop have and take, as far as the platform's file shows. Pure."""

from __future__ import annotations

from clusterbench.engines.capacity import Capacity
from clusterbench.engines.hadoop.configuration import Configuration
from clusterbench.spec.platform import Platform

DAEMONS = 2
"""Of a worker: DataNode and NodeManager."""
PARALLEL_COPIES, MERGED_AT_ONCE = "mapreduce.reduce.shuffle.parallelcopies", "mapreduce.task.io.sort.factor"


def capacity(platform: Platform) -> Capacity:
    """All slots busy at once, maps and reduces, and each reduce fetching from as many maps as it may."""
    configuration = Configuration(platform, {}, {}, {})
    slots, node_mb = configuration.slots, configuration.node_mb
    heap_mb = DAEMONS * configuration.hadoop.daemon_heap_mb
    return Capacity(
        data_roles=("worker",),
        memory_fixed_bytes=(node_mb + heap_mb) * 2**20,
        memory_said_by=f"{slots} slots: containers of {node_mb:,} MB, daemons of {heap_mb:,} MB",
        connections_fixed=slots * int(configuration.setting(PARALLEL_COPIES)),
        open_files_fixed=2 * slots * int(configuration.setting(MERGED_AT_ONCE)),
    )
