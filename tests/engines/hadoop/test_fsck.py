"""Where replicas are, as fsck of Hadoop 3.4.2 told it in the lab, whose workers share machines two by two."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clusterbench.engines.hadoop.fsck import Placement, placement

MACHINES = {f"127.0.1.3{number}": f"machine{(number - 1) % 3 + 1}" for number in range(1, 7)}
"""As the platform's file has them: .31 and .34 are on machine1, .32 and .35 on machine2, .33 and .36 on machine3."""
CAPTURED = """\
FSCK started by clusterbench (auth:SIMPLE) from /127.0.0.1 for path /clusterbench/lab_hadoop2/r1/input at Sat Nov 21

/clusterbench/lab_hadoop2/r1/input <dir>
/clusterbench/lab_hadoop2/r1/input/_SUCCESS 0 bytes, replicated: replication=3, 0 block(s):  OK

/clusterbench/lab_hadoop2/r1/input/part-m-00000 16666700 bytes, replicated: replication=3, 1 block(s):  OK
0. BP-816630286-127.0.0.1-1795278426836:blk_1073741845_1021 len=16666700 Live_repl=3  \
[/rack2/machine3/127.0.1.36:9866, /rack1/machine2/127.0.1.35:9866, /rack1/machine1/127.0.1.34:9866]

/clusterbench/lab_hadoop2/r1/input/part-m-00001 16666700 bytes, replicated: replication=3, 1 block(s):  OK
0. BP-816630286-127.0.0.1-1795278426836:blk_1073741851_1027 len=16666700 Live_repl=3  \
[/rack2/machine3/127.0.1.33:9866, /rack1/machine1/127.0.1.31:9866, /rack1/machine2/127.0.1.35:9866]

/clusterbench/lab_hadoop2/r1/input/part-m-00002 16666600 bytes, replicated: replication=3, 1 block(s):  OK
0. BP-816630286-127.0.0.1-1795278426836:blk_1073741846_1022 len=16666600 Live_repl=3  \
[/rack1/machine1/127.0.1.34:9866, /rack1/machine2/127.0.1.32:9866, /rack2/machine3/127.0.1.33:9866]


Status: HEALTHY
 Number of data-nodes:\t6
 Number of racks:\t\t2
 Total dirs:\t\t\t1

Replicated Blocks:
 Total size:\t50000000 B
 Total files:\t4
 Total blocks (validated):\t3 (avg. block size 16666666 B)
 Default replication factor:\t3
 Average block replication:\t3.0
 Missing blocks:\t\t0
FSCK ended at Sat Nov 21 16:30:25 UTC 2026 in 4 milliseconds


The filesystem under path '/clusterbench/lab_hadoop2/r1/input' is HEALTHY
"""


def file(replication: int = 3, blocks: int = 1) -> str:
    return f"/x/input/part-m-00000 250 bytes, replicated: replication={replication}, {blocks} block(s):  OK"


def block(number: int, *workers: int, path: str = "/rack/machine") -> str:
    """A block on 127.0.1.3x, for x in ``workers``; all its network locations are ``path``."""
    places = ", ".join(f"{path}/127.0.1.3{worker}:9866" for worker in workers)
    return f"{number}. BP-1:blk_{number}_1001 len=100 Live_repl={len(workers)}  [{places}]"


MISSING = "0. BP-1:blk_0_1001 len=1 MISSING!"


def test_totals_are_those_that_fsck_sums_up_itself() -> None:
    assert placement(CAPTURED.splitlines(), MACHINES) == Placement(
        files=4,
        blocks=3,
        bytes=50_000_000,
        replicas=9,
        replicas_expected=9,
        blocks_without_replica=0,
        blocks_short_of_replicas=0,
        blocks_sharing_a_machine=0,
        workers_with_blocks=6,
        blocks_of_fullest_worker=2,
        blocks_per_worker=1.5,
        examples=(),
    )


def test_blocks_of_a_file_are_all_counted() -> None:
    found = placement([file(blocks=3), block(0, 1, 2, 3), block(1, 4, 5, 6), block(2, 1, 2, 3)], MACHINES)
    assert (found.files, found.blocks, found.bytes, found.replicas) == (1, 3, 300, 9)


def test_blocks_numbered_with_two_digits_are_counted() -> None:
    found = placement([file(blocks=12), *(block(number, 1, 2, 3) for number in range(12))], MACHINES)
    assert (found.blocks, found.replicas) == (12, 36)


def test_two_replicas_on_one_machine_are_found_and_named() -> None:
    found = placement([file(), block(7, 1, 2, 4)], MACHINES)
    assert found.blocks_sharing_a_machine == 1
    assert found.examples == ("BP-1:blk_7_1001 on 127.0.1.31, 127.0.1.32, 127.0.1.34",)
    assert found.blocks_short_of_replicas == 0, "there are three of them, all the same"


@pytest.mark.parametrize(
    ("places", "sharing"),
    [
        (["/rack1/machine1/127.0.1.31", "/rack2/machine9/127.0.1.34"], 1),
        (["/rack1/machine1/127.0.1.31", "/rack1/machine1/127.0.1.32"], 0),
        (["/default-rack/127.0.1.31", "/default-rack/127.0.1.34"], 1),
        (["/default-rack/127.0.1.31", "/default-rack/127.0.1.32"], 0),
    ],
    ids=["said apart", "said together", "nothing said, together", "nothing said, apart"],
)
def test_address_decides_and_not_what_the_topology_script_made_of_it(places: Sequence[str], sharing: int) -> None:
    said = ", ".join(f"{place}:9866" for place in places)
    line = f"0. BP-1:blk_1_1001 len=100 Live_repl=2  [{said}]"
    assert placement([file(replication=2), line], MACHINES).blocks_sharing_a_machine == sharing


def test_worker_of_no_known_machine_is_one_of_its_own() -> None:
    found = placement([file(), block(0, 1, 8, 9)], {"127.0.1.31": "machine1"})
    assert (found.replicas, found.blocks_sharing_a_machine, found.workers_with_blocks) == (3, 0, 3)


def test_only_the_first_blocks_that_share_a_machine_are_named() -> None:
    found = placement([file(blocks=6), block(0, 1, 2, 3), *(block(n, 1, 4, 2) for n in range(1, 6))], MACHINES)
    assert found.blocks_sharing_a_machine == 5
    assert [example.split(" on ")[0] for example in found.examples] == [f"BP-1:blk_{n}_1001" for n in (1, 2, 3)]


def test_block_short_of_replicas_is_told() -> None:
    lines = [
        "/x/input/part-m-00000 200 bytes, replicated: replication=3, 2 block(s):  Under replicated BP-1:blk_0_1001. "
        "Target Replicas is 3 but found 2 live replica(s), 0 decommissioned replica(s), 0 decommissioning replica(s).",
        block(0, 1, 2),
        block(1, 1, 2, 3),
    ]
    found = placement(lines, MACHINES)
    assert (found.replicas, found.replicas_expected) == (5, 6)
    assert (found.blocks_short_of_replicas, found.blocks_without_replica) == (1, 0)


def test_block_without_any_replica_is_lost() -> None:
    header = "/x/input/part-m-00000 1 bytes, replicated: replication=3, 1 block(s): MISSING 1 blocks of total size 1 B"
    found = placement([header, MISSING], MACHINES)
    assert (found.blocks, found.bytes, found.replicas, found.replicas_expected) == (1, 1, 0, 3)
    assert (found.blocks_without_replica, found.blocks_short_of_replicas) == (1, 1)
    assert (found.blocks_sharing_a_machine, found.workers_with_blocks) == (0, 0)


def test_fullest_worker_is_compared_with_the_mean_of_all_also_of_those_without_blocks() -> None:
    found = placement([file(1, 4), block(0, 1), block(1, 1), block(2, 1), block(3, 2)], MACHINES)
    assert found.blocks_of_fullest_worker == 3
    assert found.workers_with_blocks == 2
    assert found.blocks_per_worker == pytest.approx(4 / 6)


def test_each_file_s_blocks_are_expected_as_often_as_that_file_says() -> None:
    lines = [file(3), block(0, 1, 2, 3), file(1, 2), block(0, 4), block(1, 5), file(2), block(0, 6)]
    found = placement(lines, MACHINES)
    assert (found.files, found.blocks) == (3, 4)
    assert (found.replicas, found.replicas_expected) == (6, 3 + 1 + 1 + 2)
    assert found.blocks_short_of_replicas == 1


@pytest.mark.parametrize(
    "lines", [[], ["", "Status: HEALTHY", " Total size:\t0 B", " Average block replication:\t0.0"]]
)
def test_no_blocks_are_none_and_no_division_by_nothing(lines: list[str]) -> None:
    for machines in (MACHINES, {}):
        assert placement(lines, machines) == Placement(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, ())
