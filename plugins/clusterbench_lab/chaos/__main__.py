"""`make chaos`: every part of a run is struck in every phase of one, and a table is printed: nothing may be LOST.

In a network namespace of its own, where connections can be cut and nobody else is met, and a mount namespace of its
own, where hosts have small disks that can be filled up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.errors import ClusterbenchError
from clusterbench.cli.pools import pool_names
from clusterbench.spec.catalog import project_catalog
from clusterbench_lab.chaos.disks import small_disks
from clusterbench_lab.chaos.faults import prepare_cuts
from clusterbench_lab.chaos.runs import LOST, Chaos, Told
from clusterbench_lab.chaos.scenarios import Scenario, chosen, scenarios
from clusterbench_lab.temporary import temporary_lab

INSIDE = "CLUSTERBENCH_CHAOS_INSIDE"
BLOCK = 77


def main() -> int:
    asked = _parser().parse_args()
    patience_s = 60 * asked.patience_minutes
    lengths = tuple(asked.outage_seconds) or (5.0, 0.6 * patience_s, 1.5 * patience_s)
    wanted = chosen(list(scenarios(lengths)), asked.only)
    if asked.list:
        print("\n".join(map(str, wanted)))
        return 0
    if INSIDE not in os.environ:
        return _in_own_network()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    prepare_cuts()
    told = list(_all(wanted, asked.patience_minutes, asked.seed))
    print("\n" + table(told))
    return 1 if any(one.is_lost for one in told) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--only", action="append", default=[], help="a part, fault or phase, or several: a|b; again for one more"
    )
    parser.add_argument(
        "--patience-minutes", type=float, default=1.0, help="of the lab; outages are shorter and longer"
    )
    parser.add_argument(
        "--outage-seconds", type=float, action="append", default=[], help="instead of those lengths; again for one more"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each makes data of its own")
    parser.add_argument("--list", action="store_true", help="say what would be done, and do nothing")
    return parser


def _in_own_network() -> int:
    if os.geteuid() != 0:
        print("chaos: namespaces of its own, for cut networks and full disks, take root", file=sys.stderr)
        return 2
    command = ["unshare", "--net", "--mount", sys.executable, "-m", "clusterbench_lab.chaos", *sys.argv[1:]]
    return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode


def _all(wanted: Sequence[Scenario], patience_minutes: float, seed: int) -> Iterator[Told]:
    environment = {
        "CLUSTERBENCH_PATIENCE_MINUTES": str(patience_minutes),
        "CLUSTERBENCH_RETRY_DELAY_S": "5",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # no DAG is changed meanwhile
    }
    with temporary_lab(BLOCK, airflow=True, environment=environment, prepared=small_disks) as lab:
        chaos = Chaos(lab, 60 * patience_minutes)
        AirflowApi(lab.airflow_url(), *lab.airflow_login()).ensure_pools(pool_names(project_catalog()))
        for number, scenario in enumerate(wanted):
            try:
                told = chaos.measure(scenario, seed + 2 * number)
            except ClusterbenchError as error:
                told = Told(scenario, LOST, reasons=[str(error)])
            print(f"[{number + 1}/{len(wanted)}] {line(told)}", flush=True)
            lab.up()  # whatever it left down
            yield told


def line(told: Told) -> str:
    waited = f"; waited for {', '.join(told.waited)}" if told.waited else ""
    reasons = "; ".join(reason.splitlines()[0][:160] for reason in told.reasons[:2])
    return (
        f"{told.scenario}: {told.verdict}, {told.completed} of {told.planned} completed, {told.took_s:.0f} s{waited}"
        + (f": {reasons}" if reasons else "")
    )


def table(told: Sequence[Told]) -> str:
    """Markdown, for the docs."""
    rows = ["| part | fault | phase | for | came to | why |", "|---|---|---|---|---|---|"]
    for one in told:
        at = one.scenario
        why = " ".join("; ".join([*one.reasons[:1], *(f"waited for {who}" for who in one.waited)]).split())[:200]
        came_to = f"{one.verdict}, {one.completed} of {one.planned}"
        length = f"{at.outage_s:g} s" if at.outage_s else ""
        rows.append(f"| {at.part} | {at.fault} | {at.phase} | {length} | {came_to} | {why} |")
    lost = sum(one.is_lost for one in told)
    twice = sum(one.driver_starts_max > 1 for one in told)
    return "\n".join([*rows, "", f"{len(told)} runs, {lost} LOST, {twice} with a driver that was started twice"])


if __name__ == "__main__":
    sys.exit(main())
