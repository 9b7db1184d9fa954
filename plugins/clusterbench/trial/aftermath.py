"""What is left to be known when the driver has ended, well or not: instances, logs, the hosts' last seconds.

A cluster that collapsed must not take the trial with it. Every question has a bound: a host that does not answer is
waited for once (``ssh.CONNECT_TIMEOUT_S``, or ``KEEPALIVE_S`` three times where the connection stood), a script takes
``engines.postgres.server.ASK_S`` at most, and so does a question to a server; whoever answers is still heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterbench.base.errors import AwayError, EngineError, HostError
from clusterbench.engines import Engine
from clusterbench.engines.state import UNREACHABLE, faults
from clusterbench.hosts import telemetry
from clusterbench.hosts.fleet import Fleet
from clusterbench.trial import totals

LAST_SAMPLES = 10
LAST = (
    "cpu_percent",
    "cpu_steal_percent",
    "pressure_cpu_percent",
    "pressure_io_percent",
    "pressure_mem_percent",
    "memory_used_percent",
)


def examine(engine: Engine, before: Mapping[str, Any], name: str, driver: str, *, ended_well: bool) -> dict[str, Any]:
    """How the cluster is after the driver, what became of its instances meanwhile, and what their logs say.

    ``name``: that of ``Engine.mark_logs``. ``driver``: the host whose clock a trial's times have. ``away`` names
    who could not be asked although the driver has ended well: then it is not known whether anything has happened to
    the cluster.
    """
    after: dict[str, Any] = {}
    try:
        after["cluster"] = engine.state()
        after["faults"] = faults(before["cluster"], after["cluster"])
        lost = [row for row in after["cluster"] if row["alive"] is None and row["problem"].startswith(UNREACHABLE)]
        if ended_well and lost:
            after["away"] = "\n".join(f"{row['name']} {row['problem']}" for row in lost)
        if after["faults"] or not ended_well:
            after["log"] = engine.log_excerpt(after["faults"])
        if not after["faults"]:
            after |= totals.after(engine, before)
            after["disturbed"] = engine.disturbed(before.get("counters") or {}, after["counters"])
        after["logged"] = engine.logged_since(name)
        after["clocks_ahead_s"] = telemetry.clocks_ahead(engine.fleet, driver)
    except (EngineError, HostError) as error:
        said = f"after the trial the cluster could not be asked: {error}"
        after["faults"] = [*after.get("faults", []), said]
        if ended_well and isinstance(error, AwayError):
            after["away"] = said
    return after


def of_one_that_broke_off(fleet: Fleet, engine: Engine, name: str, into: Path) -> dict[str, Any]:
    """Evidence of a trial that could not be followed to its end, because a host or the server was lost."""
    missing = telemetry.stop_and_collect(fleet, name, into / "telemetry")
    try:
        said = engine.log_excerpt([])
    except (EngineError, HostError) as error:
        said = f"no log: {error}"
    return {"after": {"log": said}, "telemetry_missing": missing, "last_telemetry": last_telemetry(into / "telemetry")}


def last_telemetry(folder: Path) -> dict[str, list[dict[str, float]]]:
    """The last samples of every host whose telemetry is there, with their time in epoch seconds."""
    found = {}
    for host in sorted(folder.iterdir()) if folder.exists() else ():
        if rows := telemetry.last_samples(host, LAST_SAMPLES):
            found[host.name] = [{name: row[name] for name in ("time_s", *LAST) if name in row} for row in rows]
    return found
