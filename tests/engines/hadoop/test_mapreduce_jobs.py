"""What MapReduce told of jobs in the lab (Hadoop 3.4.2): phases, counters, TeraValidate's report, and known causes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clusterbench.engines.hadoop import mapreduce_jobs

ELAPSED_S = 45.556
"""Of the client, from begin to end of the program."""
JOB: dict[str, Any] = {
    "job": {
        "submitTime": 1795278759735, "startTime": 1795278765082, "finishTime": 1795278800133,
        "id": "job_1795278696884_0002", "name": "TeraSort", "state": "SUCCEEDED", "mapsTotal": 2, "reducesTotal": 2,
    }
}  # fmt: skip
TASKS: dict[str, Any] = {
    "tasks": {
        "task": [
            {"startTime": 1795278766364, "finishTime": 1795278795194, "type": "MAP", "state": "SUCCEEDED"},
            {"startTime": 1795278766436, "finishTime": 1795278795862, "type": "MAP", "state": "SUCCEEDED"},
            {"startTime": 1795278766192, "finishTime": 1795278795596, "type": "MAP", "state": "SUCCEEDED"},
            {"startTime": 1795278766948, "finishTime": 1795278800077, "type": "REDUCE", "state": "SUCCEEDED"},
            {"startTime": 1795278767256, "finishTime": 1795278800058, "type": "REDUCE", "state": "SUCCEEDED"},
        ]
    }
}
COUNTERS: dict[str, Any] = {
    "jobCounters": {
        "id": "job_1795278696884_0001",
        "counterGroup": [
            {
                "counterGroupName": "org.apache.hadoop.mapreduce.JobCounter",
                "counter": [
                    {"name": "DATA_LOCAL_MAPS", "totalCounterValue": 6, "mapCounterValue": 0, "reduceCounterValue": 0},
                ],
            },
            {
                "counterGroupName": "org.apache.hadoop.mapreduce.TaskCounter",
                "counter": [
                    {"name": "SPILLED_RECORDS", "totalCounterValue": 1000001, "mapCounterValue": 1000000,
                     "reduceCounterValue": 1},
                    {"name": "REDUCE_OUTPUT_RECORDS", "totalCounterValue": 1000000, "mapCounterValue": 0,
                     "reduceCounterValue": 1000000},
                ],
            },
            {
                "counterGroupName": "org.apache.hadoop.examples.terasort.TeraGen$Counters",
                "counter": [
                    {"name": "CHECKSUM", "totalCounterValue": 2148987642402270, "mapCounterValue": 2148987642402270,
                     "reduceCounterValue": 0},
                ],
            },
        ],
    }
}  # fmt: skip
REPORT = "checksum\t7a27e2d0d55de\n"
DISORDER = """\
error\tmisorder in part-r-00001 between 20 20 and 10 10
error\tbad key partitioning:
  file part-r-00000:end key 30 30
  file part-r-00001:begin key 20 20
checksum\t7a27e2d0d55de
"""


def later(by_ms: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same job by a clock that is ahead."""
    job, tasks = copy.deepcopy(JOB), copy.deepcopy(TASKS)
    for entry in (job["job"], *tasks["tasks"]["task"]):
        entry |= {name: entry[name] + by_ms for name in ("submitTime", "startTime", "finishTime") if name in entry}
    return job, tasks


# Phases.


def test_reduce_merge_is_from_the_end_of_the_last_map_task_to_the_end_of_the_job() -> None:
    found = mapreduce_jobs.phases(ELAPSED_S, JOB, TASKS)
    assert found.reduce_merge_s == pytest.approx(4.271)
    assert found.map_shuffle_s == pytest.approx(45.556 - 4.271)
    assert found.last_map_ended_s == pytest.approx(1795278795.862)


@pytest.mark.parametrize("elapsed_s", [35.1, 45.556, 3600.0])
def test_phases_sum_up_to_the_elapsed_time(elapsed_s: float) -> None:
    found = mapreduce_jobs.phases(elapsed_s, JOB, TASKS)
    assert found.map_shuffle_s + found.reduce_merge_s == pytest.approx(elapsed_s, abs=1e-9)
    assert found.reduce_merge_s == pytest.approx(4.271), "what the client spends outside of the job is not of the merge"


@pytest.mark.parametrize("by_ms", [-7_200_000, -1, 1500, 86_400_000])
def test_clock_of_the_cluster_may_be_any_as_only_its_own_times_are_compared(by_ms: int) -> None:
    exact, shifted = mapreduce_jobs.phases(ELAPSED_S, JOB, TASKS), mapreduce_jobs.phases(ELAPSED_S, *later(by_ms))
    assert shifted.map_shuffle_s == pytest.approx(exact.map_shuffle_s, abs=1e-9)
    assert shifted.reduce_merge_s == pytest.approx(exact.reduce_merge_s, abs=1e-9)
    assert shifted.last_map_ended_s == pytest.approx(exact.last_map_ended_s + by_ms / 1000)


def test_order_of_the_tasks_is_of_no_matter() -> None:
    turned = {"tasks": {"task": TASKS["tasks"]["task"][::-1]}}
    assert mapreduce_jobs.phases(ELAPSED_S, JOB, turned) == mapreduce_jobs.phases(ELAPSED_S, JOB, TASKS)


# Counters.


def test_counters_are_totals_over_all_tasks_by_name() -> None:
    assert mapreduce_jobs.counters(COUNTERS) == {
        "DATA_LOCAL_MAPS": 6,
        "SPILLED_RECORDS": 1000001,
        "REDUCE_OUTPUT_RECORDS": 1000000,
        "CHECKSUM": 2148987642402270,
    }


@pytest.mark.parametrize("groups", [None, [], [{"counterGroupName": "Shuffle Errors"}], [{"counter": None}]])
def test_job_without_counters_has_none(groups: list[dict[str, Any]] | None) -> None:
    assert mapreduce_jobs.counters({"jobCounters": {"id": "job_1_0001", "counterGroup": groups}}) == {}


# TeraValidate's report.


def test_checksum_of_the_report_is_the_counter_of_what_was_generated() -> None:
    assert mapreduce_jobs.checksum(REPORT) == "7a27e2d0d55de" == f"{mapreduce_jobs.counters(COUNTERS)['CHECKSUM']:x}"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (DISORDER, "7a27e2d0d55de"),
        ("checksum\t0007a27e2d0d55de\n", "7a27e2d0d55de"),
        ("checksum\t0\n", "0"),
        ("checksum\t000\n", "0"),
        ("checksum\tab", "ab"),
        ("", None),
        ("error\tmisorder in part-r-00001\n", None),
        ("error\tchecksum\tab\n", None),
    ],
)
def test_checksum_is_read_without_leading_zeros_and_is_none_where_it_is_absent(
    report: str, expected: str | None
) -> None:
    assert mapreduce_jobs.checksum(report) == expected


@pytest.mark.parametrize("report", [REPORT, "", "\n", "\n" + REPORT + "\n"])
def test_sorted_output_has_no_disorder(report: str) -> None:
    assert mapreduce_jobs.disorder(report) == []


def test_whatever_is_out_of_order_is_told() -> None:
    found = mapreduce_jobs.disorder(DISORDER)
    assert found[0] == "error\tmisorder in part-r-00001 between 20 20 and 10 10"
    assert found[1] == "error\tbad key partitioning:"
    assert not [line for line in found if "checksum" in line]


# Why a job failed.

FULL = "is full: free space there, or choose fewer rows or replicas"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create directory /clusterbench/staging. "
            "Name node is in safe mode.",
            "the NameNode is in safe mode, nothing can be written: ",
        ),
        (
            "org.apache.hadoop.ipc.RemoteException: Cannot delete /x/output. Name node is in safe mode.\nThe reported "
            "blocks 0 needs additional 6 blocks to reach the threshold 0.9990 of total blocks 6.",
            "end it with: hdfs dfsadmin -safemode leave",
        ),
        (
            "org.apache.hadoop.ipc.RemoteException(java.io.IOException): File /x/input/_temporary/1/part-m-00000 could "
            "only be written to 0 of the 1 minReplication nodes. There are 4 datanode(s) running and 4 node(s) are "
            "excluded in this operation.",
            FULL,
        ),
        ("Error: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device", FULL),
        (
            "org.apache.hadoop.util.DiskChecker$DiskOutOfSpaceException: Out of space: The volume with the most "
            "available space (=52428800 B) is less than the block size (=268435456 B).",
            FULL,
        ),
        (
            "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /x is exceeded: quota = "
            "1048576 B = 1 MB but diskspace consumed = 805306368 B = 768 MB",
            FULL,
        ),
        (
            "Error: org.apache.hadoop.util.DiskChecker$DiskErrorException: No space available in any of the local "
            "directories.",
            FULL,
        ),
        (
            "org.apache.hadoop.mapred.FileAlreadyExistsException: Output directory hdfs://10.0.0.2:8020/x/output "
            "already exists",
            "the output path exists already, left by an earlier job; remove it with: hdfs dfs -rm -r -skipTrash",
        ),
        (
            "Error: org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block: BP-1:blk_1073741845_1021 "
            "file=/x/input/part-m-00000",
            "blocks are missing: the DataNodes that had them are lost",
        ),
        (
            "WARN hdfs.DFSClient: No live nodes contain block blk_1073741845_1021 ... Could not obtain block: blk_1",
            "blocks are missing",
        ),
        (
            "java.net.ConnectException: Call From vm/127.0.0.1 to 127.0.1.30:8032 failed on connection exception: "
            "java.net.ConnectException: Connection refused; For more details see:  "
            "http://wiki.apache.org/hadoop/ConnectionRefused",
            "a daemon could not be reached; see the log of what went down",
        ),
        (
            "java.net.NoRouteToHostException: No Route to Host from  vm/127.0.0.1 to 10.0.0.2:8020 failed on socket "
            "timeout exception: java.net.NoRouteToHostException: No route to host",
            "a daemon could not be reached",
        ),
        (
            "org.apache.hadoop.net.ConnectTimeoutException: 20000 millis timeout while waiting for channel to be ready "
            "for connect. ch : java.nio.channels.SocketChannel[connection-pending remote=/10.0.0.2:8020]",
            "a daemon could not be reached",
        ),
    ],
)
def test_known_cause_is_said_in_words_with_what_to_do(said: str, words: str) -> None:
    noise = "2026-11-21 16:32:40,001 INFO DefaultNoHARMFailoverProxyProvider: Connecting to ResourceManager"
    assert words in mapreduce_jobs.explain(f"{noise}\n{said}\n\tat org.apache.hadoop.examples.terasort.TeraGen.main\n")


def test_cause_is_said_before_a_connection_that_was_only_tried_again() -> None:
    said = (
        "INFO ipc.Client: Retrying connect to server: 10.0.0.2:8032. Already tried 0 time(s): Connection refused\n"
        "org.apache.hadoop.mapred.FileAlreadyExistsException: Output directory hdfs://m:8020/x already exists\n"
    )
    assert mapreduce_jobs.explain(said).startswith("the output path exists already")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "INFO mapreduce.Job:  map 100% reduce 100%",
        "Error: java.lang.OutOfMemoryError: Java heap space",
        'Exception in thread "main" java.lang.NoClassDefFoundError: org/apache/hadoop/util/Tool',
        "Container killed on request. Exit code is 143",
    ],
)
def test_nothing_is_said_of_an_unknown_cause(said: str) -> None:
    assert mapreduce_jobs.explain(said) == ""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("could only be written to 0 of the 1 minReplication nodes. There are 0 datanode(s) running", "no DataNode is"),
        ("Could not find any valid local directory for output/attempt_1/spill0.out", "is full"),
        ("1/1 local-dirs usable space is below configured utilization percentage/no more usable space", "is full"),
    ],
)
def test_real_messages_of_full_disks_and_lost_datanodes_are_told_apart(said: str, words: str) -> None:
    assert words in mapreduce_jobs.explain(said)
