"""`clusterbench lab up | status | down | fetch`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict

from clusterbench.airflow.api import PASSWORDS_FILE
from clusterbench.base.errors import LabError
from clusterbench.base.paths import lab_dir
from clusterbench.cli.about import About, tell
from clusterbench_lab.credentials import ADMIN, AIRFLOW_USERS
from clusterbench_lab.lab import Lab
from clusterbench_lab.server import ServerStatus

ABOUT = {
    "up": About(
        "Start every server of the lab that does not run yet. Data from earlier are still there.",
        ("clusterbench lab up", "clusterbench lab up --no-airflow", "clusterbench lab up --hypervisor"),
    ),
    "status": About(
        "Print one line for each server of the lab: address, port, process, and whether it runs.",
        ("clusterbench lab status",),
        "a server does not run",
    ),
    "down": About("Stop every server that 'up' started. Their data stay.", ("clusterbench lab down",)),
    "fetch": About(
        "Fetch what 'up' would fetch, and start nothing.",
        ("clusterbench lab fetch", "clusterbench lab fetch --hypervisor"),
    ),
}


def main(argv: list[str]) -> int:
    """Exit codes: 0 done (of `status`: everything runs), 1 not, 2 for a wrong call."""
    choices = parser().parse_args(argv)
    try:
        if choices.action == "up":
            return _up(choices)
        if choices.action == "down":
            Lab(lab_dir(), report=_say).down()
            return 0
        if choices.action == "fetch":
            Lab(lab_dir()).fetch(hypervisor=choices.hypervisor)
            return 0
        return _status(as_json=choices.json)
    except LabError as error:
        print(error, file=sys.stderr)
        return 1


def _up(choices: argparse.Namespace) -> int:
    started = time.monotonic()
    lab = Lab(lab_dir(), block=choices.block, report=_say)
    lab.up(airflow=choices.airflow, hypervisor=choices.hypervisor)
    _say(f"The lab is up after {time.monotonic() - started:.1f} s, in {lab.lab_dir}")
    if choices.airflow:
        others = ", ".join(user for user in AIRFLOW_USERS if user != ADMIN)
        passwords = lab.layout.airflow_dir / PASSWORDS_FILE
        _say(f"Airflow: {lab.airflow_url()} (user {ADMIN}, or with fewer rights {others}; passwords in {passwords})")
    return 0


def _status(as_json: bool) -> int:
    servers = Lab(lab_dir()).status()
    if as_json:
        print(json.dumps([asdict(server) for server in servers], indent=2))
    elif not servers:
        _say(f"No lab in {lab_dir()}. Bring it up with: clusterbench lab up")
    else:
        for server in servers:
            _say(_line(server))
    return 0 if servers and all(server.state == "running" for server in servers) else 1


def _line(server: ServerStatus) -> str:
    where = f"{server.address}:{server.port}" if server.port else "-"
    pid = str(server.pid) if server.pid else "-"
    line = f"{server.name:<14} {server.kind:<11} {where:<19} {pid:>8}  {server.state}"
    return f"{line}  {server.detail}".rstrip()


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="clusterbench lab",
        description="Real servers on this machine: hosts with sshd, PostgreSQL, S3, Airflow. "
        "They live in .lab, or in the folder that CLUSTERBENCH_LAB_DIR names.",
    )
    actions = found.add_subparsers(dest="action", required=True)
    up = actions.add_parser("up", help="start what does not run; again and again if you like")
    up.add_argument("--no-airflow", dest="airflow", action="store_false", help="start all but Airflow")
    up.add_argument(
        "--hypervisor", action="store_true", help="start also a simulated vCenter, whose machines are hosts of the lab"
    )
    up.add_argument("--block", type=int, metavar="N", help="addresses 127.0.N.x for a new lab; 1 unless given")
    status = actions.add_parser("status", help="one line per server; exit code 0 when all run")
    status.add_argument("--json", action="store_true", help="everything, as JSON")
    actions.add_parser("down", help="stop what `up` started; the data stays")
    fetch = actions.add_parser("fetch", help="only fetch what `up` would: S3Proxy and Hadoop by Maven")
    fetch.add_argument("--hypervisor", action="store_true", help="also the simulator of a vCenter, by Go")
    tell(found, ABOUT)
    return found


def _say(line: str) -> None:
    print(line, flush=True)
