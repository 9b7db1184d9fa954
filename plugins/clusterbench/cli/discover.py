"""``clusterbench discover``: a platform's file from what a cluster reports about itself."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.cli.common import OK, own_connections


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    discover = commands.add_parser("discover", help="write a platform's file from what a running cluster reports")
    discover.add_argument("name", metavar="NAME", help="name for the platform")
    whom = discover.add_mutually_exclusive_group(required=True)
    whom.add_argument(
        "--database", metavar="CONNECTION", help="the connection of a coordinator or of a PostgreSQL server"
    )
    whom.add_argument(
        "--resourcemanager", metavar="URL", help="the ResourceManager of a Hadoop, such as http://rm:8088"
    )
    discover.add_argument(
        "--own-daemons",
        action="store_true",
        help="Hadoop only: clusterbench starts its own daemons on these hosts; the present ones must be stopped",
    )
    discover.set_defaults(command=_discover)


def _discover(options: argparse.Namespace) -> int:
    from clusterbench.engines import discovery  # noqa: PLC0415

    file = project_root() / "include" / "platforms" / f"{options.name}.yaml"
    connections = Path(f"{options.name}_connections.json")
    if there := [str(path) for path in (file, connections) if path.exists()]:
        raise SpecError(
            [f"{there[0]}: exists already and is not overwritten; choose another name, or move the file away"]
        )
    if options.database:
        found = discovery.of_database(options.name, own_connections()(options.database))
    else:
        found = discovery.of_resourcemanager(options.name, options.resourcemanager, own_daemons=options.own_daemons)
    file.write_text(found.yaml)
    connections.touch(mode=0o600)
    connections.write_text(json.dumps(found.connections, indent=2) + "\n")
    print(f"{file}: {len(found.platform['hosts'])} hosts")
    print(
        f"{connections}: the connections of the hosts; complete them, and add them to Airflow or to your connections "
        "file"
    )
    print(f"then: clusterbench lint && clusterbench doctor {options.name}")
    return OK
