"""How a large file is cut for an upload in parts. Pure.

Amazon S3's limits: at most 10,000 parts, each of 5 MiB at least but for the last, and of 5 GiB at most.
"""

from __future__ import annotations

PART_BYTES = 32 << 20
"""So many bytes are sent again where a request failed, and are in memory for each request at once."""
PARTS_MAX = 10_000


def parts(size: int, part_bytes: int = PART_BYTES) -> list[tuple[int, int]]:
    """(offset, length) of each part; larger ones where there would be too many."""
    each = max(part_bytes, -(-size // PARTS_MAX))
    return [(offset, min(each, size - offset)) for offset in range(0, size, each)]
