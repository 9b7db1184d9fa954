"""``clusterbench discover``: a platform's file, and its connections, from what a cluster reports about itself."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterbench.base.connections import local_file
from clusterbench.base.errors import SpecError
from clusterbench.base.paths import lab_dir, project_root
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
    discover.add_argument("--client", default="", metavar="ADDRESS", help="of the host that drives the load")
    discover.add_argument("--etl", default="", metavar="ADDRESS", help="of the host with the load files")
    discover.add_argument("--login", default="", help="the login on all hosts, which owns the database's files")
    discover.add_argument(
        "--key-file", default="", metavar="PATH", help="the private key for that login, on the machines of Airflow"
    )
    discover.add_argument("--ssh-port", type=int, metavar="N", help="of all hosts; 22 unless given")
    discover.add_argument(
        "--host-keys", action="store_true", help="ask every host for its public key, and print what is to be compared"
    )
    discover.add_argument(
        "--add", action="store_true", help="add the connections to your connections file, not to a file of their own"
    )
    discover.set_defaults(command=_discover)


def _discover(options: argparse.Namespace) -> int:
    from clusterbench.engines import discovery  # noqa: PLC0415
    from clusterbench.hosts.address import SSH_PORT  # noqa: PLC0415

    file = project_root() / "include" / "platforms" / f"{options.name}.yaml"
    kept = local_file(lab_dir()) if options.add else Path(f"{options.name}_connections.json")
    if there := [str(path) for path in (file, kept) if path.exists() and not (options.add and path == kept)]:
        raise SpecError(
            [f"{there[0]}: exists already and is not overwritten; choose another name, or move the file away"]
        )
    access = discovery.Access(
        login=options.login,
        key_file=options.key_file,
        client=options.client,
        etl=options.etl,
        port=options.ssh_port or SSH_PORT,
        asks_for_keys=options.host_keys,
    )
    if options.database:
        found = discovery.of_database(options.name, own_connections()(options.database), access)
    else:
        url = options.resourcemanager
        found = discovery.of_resourcemanager(options.name, url, access, own_daemons=options.own_daemons)
    keys = _ask_for_keys(found.connections) if options.host_keys else []
    _write_connections(kept, found.connections, add=options.add)
    file.write_text(found.yaml)
    print(f"{file}: {len(found.platform['hosts'])} hosts")
    if options.add:
        print(f"{kept}: {len(found.connections)} connections added")
    else:
        print(
            f"{kept}: the connections of the hosts; complete them, and add them to Airflow or to your connections file"
        )
    if keys:
        print("compare each with what the host itself prints: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
        print(*keys, sep="\n")
    print(f"then: clusterbench lint && clusterbench doctor {options.name}")
    return OK


def _ask_for_keys(connections: Mapping[str, dict[str, Any]]) -> list[str]:
    """Pins the keys of hosts whose address is known. Returns a line for each host, for people."""
    from clusterbench.engines.discovery import BLANK  # noqa: PLC0415
    from clusterbench.hosts import host_keys  # noqa: PLC0415
    from clusterbench.hosts.address import SSH_PORT  # noqa: PLC0415

    known = {name: one for name, one in connections.items() if one["host"] != BLANK}
    places = {name: (str(one["host"]), int(one.get("port", SSH_PORT))) for name, one in known.items()}
    lines = []
    for name, shown in host_keys.shown_by(places).items():
        if shown.key:
            connections[name]["extra"]["host_key"] = shown.key
        lines.append(f"  {name:<24} {shown.fingerprint or f'no key: {shown.problem}'}")
    return lines


def _write_connections(file: Path, connections: Mapping[str, Any], *, add: bool) -> None:
    """Only its owner may read the file, from its first byte on."""
    known: dict[str, Any] = json.loads(file.read_text()) if add and file.exists() else {}
    if there := [name for name in connections if name in known]:
        raise SpecError(
            [f"{file}: has a connection {there[0]!r} already, and is not written over; choose another name"]
        )
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(json.dumps({**known, **connections}, indent=2) + "\n")
    new.replace(file)
