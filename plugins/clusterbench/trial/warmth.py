"""Caches that cannot be warm: relations larger than the hosts' memory, as the platform's file declares it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from clusterbench.base.factors import Level
from clusterbench.engines.caches import WARM_SHARE_MIN
from clusterbench.spec.placed import memory_bytes
from clusterbench.spec.platform import Platform
from clusterbench.workloads import WARM, Workload
from clusterbench.workloads.needs import needs_of


def too_large(workload: Workload, levels: Mapping[str, Level], seed: int, platform: Platform) -> str:
    """Why these levels cannot be had warm, in words; empty where they can, or where the file tells no memory.

    What the file leaves open is found out by the proof of the caches, before the driver.
    """
    memory = memory_bytes(platform)
    if memory is None or levels.get("cache") not in WARM:
        return ""
    needed = needs_of(workload, levels, seed).relation_bytes
    if WARM_SHARE_MIN * needed <= memory:
        return ""
    others = [state for state in ("cold", "as_left", "ramped_up") if state in workload.factors["cache"].choices]
    return (
        f"{needed / 1e9:,.0f} GB of relations cannot be warm: the hosts of {platform.platform!r} have "
        f"{memory / 2**30:,.4g} GiB of memory; measure it {' or '.join(others)}"
    )
