"""Where the replicas of every block are, from what fsck says with ``-files -blocks -racks``. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

BLOCK = re.compile(r"^\d+\. (?P<block>\S+) len=(?P<bytes>\d+)(?P<rest>.*)$")
REPLICA = re.compile(r"/(?P<address>[^/\s,\]]+):\d+")
EXPECTED = re.compile(r"replication=(\d+)")
EXAMPLES = 3


@dataclass(frozen=True)
class Placement:
    """All blocks below a path. ``blocks_sharing_a_machine``: with two replicas or more on one physical host."""

    files: int
    blocks: int
    bytes: int
    replicas: int
    replicas_expected: int
    blocks_without_replica: int
    blocks_short_of_replicas: int
    blocks_sharing_a_machine: int
    workers_with_blocks: int
    blocks_of_fullest_worker: int
    blocks_per_worker: float
    """Replicas on a worker, mean over all of them."""
    examples: tuple[str, ...]
    """The first blocks that share a machine."""


def placement(lines: Iterable[str], machines: Mapping[str, str]) -> Placement:
    """Count replicas, line by line. ``machines``: address of a worker -> its physical host; of none else is one known.

    The address tells the machine, not the network location that the topology script made of it: a script that is
    wrong must show.
    """
    files = blocks = size = replicas = expected_in_all = lost = short = sharing = expected = 0
    on_worker: Counter[str] = Counter(dict.fromkeys(machines, 0))
    examples: list[str] = []
    for line in lines:
        if found := EXPECTED.search(line):
            expected, files = int(found[1]), files + 1
        block = BLOCK.match(line)
        if block is None:
            continue
        addresses = REPLICA.findall(block["rest"])
        blocks, size, replicas = blocks + 1, size + int(block["bytes"]), replicas + len(addresses)
        expected_in_all += expected
        lost += not addresses
        short += len(addresses) < expected
        on_worker.update(addresses)
        places = [machines.get(address, address) for address in addresses]
        if len(set(places)) < len(places):
            sharing += 1
            examples += [f"{block['block']} on {', '.join(addresses)}"][: EXAMPLES - len(examples)]
    return Placement(
        files=files,
        blocks=blocks,
        bytes=size,
        replicas=replicas,
        replicas_expected=expected_in_all,
        blocks_without_replica=lost,
        blocks_short_of_replicas=short,
        blocks_sharing_a_machine=sharing,
        workers_with_blocks=sum(1 for count in on_worker.values() if count),
        blocks_of_fullest_worker=max(on_worker.values(), default=0),
        blocks_per_worker=replicas / len(on_worker) if on_worker else 0.0,
        examples=tuple(examples),
    )
