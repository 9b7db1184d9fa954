"""A Hadoop of a hundred workers on this machine, real processes with small heaps: what holds in number, what it takes.

``python -m clusterbench_lab.bench.many_workers 100`` makes the hosts, has the engine configure and start a NameNode, a
ResourceManager, and a DataNode and a NodeManager on each worker, and makes a whole run of ``terasort`` there: facts,
block placement, telemetry of all hosts, report. The lab's archive must be up (``make up``). A hundred take 24 GB of
memory and 5 of swap. All workers share the processors of this machine, so seconds say nothing of a cluster.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from clusterbench.base.connections import Connection, Connections, from_parts, local_connections
from clusterbench.base.paths import PROJECT_FILE, lab_dir, within
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench_lab.many_hosts import ManyHosts, many_hosts

PLATFORM = "many_workers"
MACHINES_PER_RACK = 5
WORKERS_PER_MACHINE = 4
CONTAINERS_AT_ONCE = 4
"""Of all workers together: each is a JVM, and they are one machine."""
DECLARED = """platform: many_workers
title: So many workers as one machine holds
description: Real daemons, each with an address and a work folder of its own.
engine: hadoop
cluster: many_workers
may: [restart, recover]
hosts:
  client: {{ssh: many_client, roles: [client]}}
  master: {{ssh: many_master, roles: [namenode]}}
  worker: {{ssh: many_worker, roles: [worker], count: {workers}, machines: {machines}, machines_per_rack: {per_rack}}}
page_cache: none
hadoop:
  slots: 1
  daemon_heap_mb: {heap_mb}
  java_options: {small}
settings:
  mapreduce.map.java.opts: -Xmx100m {java}
  mapreduce.reduce.java.opts: -Xmx100m {java}
  mapreduce.task.io.sort.mb: "16"
  mapreduce.job.running.map.limit: "{at_once}"
  mapreduce.job.running.reduce.limit: "{at_once}"
  yarn.app.mapreduce.am.command-opts: -Xmx256m {java}
  mapreduce.shuffle.port: "0"
  mapreduce.shuffle.max.threads: "4"
  yarn.nodemanager.container-manager.thread-count: "4"
  yarn.nodemanager.localizer.client.thread-count: "2"
  yarn.nodemanager.collector-service.thread-count: "1"
  dfs.datanode.handler.count: "3"
  dfs.heartbeat.interval: "5"
  yarn.resourcemanager.nodemanagers.heartbeat-interval-ms: "3000"
  dfs.namenode.safemode.extension: "1000"
  dfs.namenode.redundancy.considerLoad: "false"
  mapreduce.terasort.partitions.sample: "100000"
  hadoop.rpc.socket.factory.class.default: OwnAddressSocketFactory
  yarn.nodemanager.env-whitelist: {passed}
"""
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SMALL = f"{JAVA} -Xms8m -Xmn4m -Xss256k -XX:ReservedCodeCacheSize=20m -XX:MinHeapFreeRatio=5 -XX:MaxHeapFreeRatio=15"
"""A daemon's heap stays near what it holds."""
HEAP_MB = 64
JAVA_IN_TURN = """#!/bin/sh
case "$*" in
  *.DataNode | *.NodeManager)
    exec 8>"{folder}/turn.$(($$ % {at_once}))"
    flock 8
    (sleep {start_s}) & # it holds the lock so long
    exec nice -n 15 {java} "$@" 8>&-
    ;;
esac
exec {java} "$@"
"""
AT_ONCE, START_S = 4, 10
"""Of workers' JVMs; a start takes some four seconds of a processor."""
PASSED = "JAVA_HOME,JDK_JAVA_OPTIONS,HADOOP_HOME,HADOOP_COMMON_HOME,HADOOP_CONF_DIR,CLUSTERBENCH_ADDRESS,LANG,TZ,PATH"


def main(workers: int) -> None:
    with (
        _gentle() as environment,
        many_hosts(workers + 2, environment) as hosts,
        _project(hosts, workers) as connections,
    ):
        run = Run("terasort", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{workers:06x}", connections)
        steps.open_run(
            run, {"scale": "smoke", "platforms": [PLATFORM], "sweeps": ["platforms"]}, {"by": "many_workers"}
        )
        try:
            _timed("take_cluster", lambda: steps.take_cluster(run, PLATFORM))
            _timed("set_up_cluster", lambda: steps.set_up_cluster(run, PLATFORM))
            _timed("flush_caches", lambda: steps.flush_caches(run, PLATFORM))
            _timed("generate_data", lambda: steps.generate_data(run, PLATFORM))
            for trial in steps.validate_data(run, PLATFORM):
                begun = time.monotonic()
                record = steps.measure(run, PLATFORM, trial.id)
                print(f"{trial.id}: {record.outcome} {record.reason}, {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            _timed("release_cluster", lambda: steps.release_cluster(run, PLATFORM))
        _timed("summarise", lambda: steps.summarise(run))
        _timed("validate_results", lambda: steps.validate_results(run))
        _timed("write_report", lambda: steps.write_report(run))
        _timed("seal", lambda: steps.seal(run))
        print(f"{run.archive.prefix}: clusterbench report {run.run_id}")


@contextmanager
def _gentle() -> Iterator[dict[str, str]]:
    """So many JVMs at once leave masters and sshd no processor, so that workers give up before they are heard.

    They start one after the other, and have what the masters leave.
    """
    with tempfile.TemporaryDirectory(prefix="clusterbench-java-") as folder:
        Path(folder).chmod(0o755)
        java = Path(folder) / "java"
        java.write_text(JAVA_IN_TURN.format(folder=folder, java=shutil.which("java"), at_once=AT_ONCE, start_s=START_S))
        java.chmod(0o755)
        yield {"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin", "MALLOC_ARENA_MAX": "1"}


def _timed(step: str, done: Callable[[], object]) -> None:
    begun = time.monotonic()
    done()
    print(f"{step}: {time.monotonic() - begun:.1f} s", flush=True)


@contextmanager
def _project(hosts: ManyHosts, workers: int) -> Iterator[Connections]:
    """A project whose one platform is these hosts, and the connections that lead to them and to the lab's archive."""
    named = ["client", "master", *(f"worker{number}" for number in range(1, workers + 1))]
    places = dict(zip((f"many_{name}" for name in named), hosts.addresses, strict=True))
    of_lab = local_connections(lab_dir())
    for address in places.values():
        Path(address.work_dir).mkdir(parents=True)
        (Path(address.work_dir) / "hadoop").symlink_to(lab_dir() / "hadoop")

    def find(conn_id: str) -> Connection:
        address = places.get(conn_id)
        if address is None:
            return of_lab(conn_id)
        extra = {"key_file": address.key_file, "host_key": address.host_key, "work_dir": address.work_dir}
        return from_parts(
            conn_id, {"host": address.host, "port": address.port, "login": address.login, "extra": json.dumps(extra)}
        )

    with tempfile.TemporaryDirectory(prefix="clusterbench-many-") as folder:
        platforms = Path(folder) / "include" / "platforms"
        platforms.mkdir(parents=True)
        (Path(folder) / PROJECT_FILE).write_text("project: many\n")
        declared = DECLARED.format(
            workers=workers,
            machines=-(-workers // WORKERS_PER_MACHINE),
            per_rack=MACHINES_PER_RACK,
            heap_mb=HEAP_MB,
            java=JAVA,
            small=SMALL,
            at_once=CONTAINERS_AT_ONCE,
            passed=PASSED,
        )
        (platforms / f"{PLATFORM}.yaml").write_text(declared)
        with within(Path(folder)):
            yield find


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
