"""From one host to another over the network, one way and both ways at once (paper 002, p. 16, by netperf).

The client host sends to the first worker. netperf is not free software, iperf3 is: both move bytes through one TCP
connection, or several, as fast as it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import NO_CLOCK, About, MeasurementKind, Reading
from clusterbench.base.scripts import script
from clusterbench.workloads.microbenchmarks.of_hosts import OfHosts, choices, program
from clusterbench.workloads.needs import Needs

if TYPE_CHECKING:
    from clusterbench.base.datasets import Dataset
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine
    from clusterbench.engines.hadoop.engine import HadoopCluster

PORT = 15201
"""Not iperf3's own, 5201, on which somebody else's may wait."""
MIBIT = 2**20


class NetworkStream(OfHosts):
    """From the client host to the first worker."""

    title = "Network from host to host"
    outputs = ("network.json", "network.err", "network.begun", "network.ended")
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "sent_mibit_per_s": MeasurementKind(
            "Mib/s",
            "Sent, as the other host received it",
            "higher",
            about=About(
                "What the worker received from the client host over all connections, as iperf3 prints it. One Mib is "
                "1,048,576 bits.",
                "the worker",
                "headers of TCP and of what is below it",
            ),
        ),
        "received_mibit_per_s": MeasurementKind(
            "Mib/s",
            "Received meanwhile",
            "higher",
            about=About(
                "What the client host received at the same time; only of a test in both directions.",
                leaves_out="headers of TCP and of what is below it",
            ),
        ),
        "retransmits": MeasurementKind(
            "1",
            "Segments that TCP sent again",
            about=About("Segments that the client host's TCP sent again during the test.", NO_CLOCK),
        ),
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "direction": Factor(
            "one_way",
            "`one_way`: to the worker. `both_ways`: to the worker and back at the same time.",
            choices=("one_way", "both_ways"),
        ),
        "connections": Factor(
            1, "The TCP connections in each direction.", minimum=1, maximum=128, wording="{} connections"
        ),
        "window_s": Factor(60, "The seconds that are measured.", minimum=1, maximum=86_400, wording="{} s"),
    }

    @classmethod
    def dataset(cls, levels: Mapping[str, Level], seed: int) -> Dataset:  # noqa: ARG003  as every workload has it
        return cls.nothing_kept("network_stream", seed)

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return unavailable.get("iperf3") or unavailable.get("workers")

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        return 15 + float(levels["window_s"])

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:  # noqa: ARG002  as every workload has it
        return Needs(sessions=0, read_bytes=0, written_bytes=0, declared_s=float(levels["window_s"]))

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        """A server on the worker, for one test."""
        cluster = cast("HadoopCluster", engine)
        worker, address = _worker(cluster)
        serve = script("microbenchmarks/serve", directory=_directory(trial, cluster), address=address, port=PORT)
        cluster.on_each({worker: serve}, f"nothing else may listen on port {PORT} of {address}")
        return {"from": cluster.platform.client, "to": worker, "address": address}

    def job(self, trial: Trial, engine: Engine) -> Job:
        _, address = _worker(cast("HadoopCluster", engine))
        said = {
            "address": address,
            "port": PORT,
            "window_s": trial.levels["window_s"],
            "streams": trial.levels["connections"],
        }
        options = ["--bidir"] if trial.levels["direction"] == "both_ways" else []
        files = {"choices.sh": choices(said, {"options": options}), "network.sh": program("network")}
        return Job(files, {}, ". ./network.sh\n")

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002
        begun, ended = (_seconds(output / f"network.{name}") for name in ("begun", "ended"))
        told = json_of(output / "network.json")
        end = told.get("end") or {}
        if told.get("error") or "sum_received" not in end:
            return Reading({}, 1, 0, begun, ended, details={"driver_errors": str(told.get("error", ""))})
        measured = {
            "sent_mibit_per_s": end["sum_received"]["bits_per_second"] / MIBIT,
            "retransmits": float(end["sum_sent"].get("retransmits", 0)),
        }
        if back := end.get("sum_received_bidir_reverse"):
            measured["received_mibit_per_s"] = back["bits_per_second"] / MIBIT
        return Reading(measured, 0, 1, begun, ended)

    def restore(self, trial: Trial, engine: Engine) -> None:
        cluster = cast("HadoopCluster", engine)
        worker, _ = _worker(cluster)
        stop = script("microbenchmarks/serve_no_more", directory=_directory(trial, cluster))
        cluster.on_each({worker: stop}, "the login must be the one that started it")


def _worker(cluster: HadoopCluster) -> tuple[str, str]:
    """The first, and the address by which data reaches it."""
    first, *_ = cluster.configuration.workers
    return first, cluster.configuration.addresses[first]


def _directory(trial: Trial, cluster: HadoopCluster) -> str:
    worker, _ = _worker(cluster)
    return f"{cluster.configuration.directories[worker]}/network_stream/{trial.id}"


def _seconds(path: Path) -> float | None:
    return float(path.read_text()) if path.exists() else None


WORKLOAD = NetworkStream()
