"""``clusterbench history``: load finished runs into the history database, rebuild it, show what it has."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from clusterbench.base.archive import CONNECTION_ID, Store, find_run
from clusterbench.cli.common import FAILED, OK, RUN_HELP, own_connections
from clusterbench.spec.catalog import project_catalog

if TYPE_CHECKING:
    from clusterbench.history import load


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    history = commands.add_parser(
        "history", help="load runs into the history database, rebuild it, or show what it has"
    )
    actions = history.add_subparsers(required=True, metavar="ACTION")

    load = actions.add_parser("load", help="load one finished run; without RUN all that are missing")
    load.add_argument("run", metavar="RUN", nargs="?", help=RUN_HELP)
    load.set_defaults(command=_load)

    rebuild = actions.add_parser(
        "rebuild", help="rebuild all of it from object storage; readers see the old or the new one, never a half"
    )
    rebuild.set_defaults(command=_rebuild)

    status = actions.add_parser("status", help="show what it has, and which finished runs are missing; changes nothing")
    status.set_defaults(command=_status)

    migrate = actions.add_parser(
        "migrate", help="upgrade its tables, as every load does; or with --to go back to an older version"
    )
    migrate.add_argument("--to", metavar="VERSION", help="the version of the tables that an older clusterbench needs")
    migrate.set_defaults(command=_migrate)


def _load(options: argparse.Namespace) -> int:
    from clusterbench.history import database, load  # noqa: PLC0415

    connections, catalog = own_connections(), project_catalog()
    store = Store.of(connections(CONNECTION_ID))
    with database.for_loading(connections(database.CONNECTION_ID)) as db:
        if options.run is None:
            return _told(load.catch_up(db, store, catalog))
        load.load_published(db, catalog)
        archive = find_run(store, options.run)
        done = "loaded" if load.load_any(db, archive, catalog) else "was loaded before"
    print(f"{archive.experiment}/{archive.run_id}: {done}")
    return OK


def _rebuild(_options: argparse.Namespace) -> int:
    from clusterbench.history import database, rebuild  # noqa: PLC0415

    connections = own_connections()
    store = Store.of(connections(CONNECTION_ID))
    return _told(rebuild.rebuild(connections(database.CONNECTION_ID), store, project_catalog(), print))


def _told(counted: load.Counted) -> int:
    for problem in counted.problems.values():
        print(problem, file=sys.stderr)
    print(counted)
    return FAILED if counted.problems else OK


def _status(_options: argparse.Namespace) -> int:
    from clusterbench.history import database, load  # noqa: PLC0415

    connections = own_connections()
    connection = connections(database.CONNECTION_ID)
    with database.opened(connection) as db:
        version = database.version(db)
        print(f"{database.where(connection)}: tables of version {version or 'none'}, newest is {database.NEWEST}")
        if version is None:
            print("nothing is loaded yet; load the finished runs with: clusterbench history load")
            return OK
        query = "SELECT experiment, scale, count(*), max(run_id) FROM runs GROUP BY 1, 2 ORDER BY 1, 2"
        for experiment, scale, count, newest in db.execute(query):
            print(f"{experiment:20} {scale:8} {count:6} runs, the newest {newest}")
        lacking = [one for one in load.missing(db, Store.of(connections(CONNECTION_ID))) if one.sealed]
    for archive in lacking:
        print(f"not loaded: {archive.experiment}/{archive.run_id}")
    print("load them with: clusterbench history load" if lacking else "every finished run is loaded")
    return OK


def _migrate(options: argparse.Namespace) -> int:
    from clusterbench.history import database  # noqa: PLC0415

    connection = own_connections()(database.CONNECTION_ID)
    database.migrate(connection, to=options.to or database.NEWEST)
    print(f"{database.where(connection)}: tables of version {options.to or database.NEWEST}")
    return OK
