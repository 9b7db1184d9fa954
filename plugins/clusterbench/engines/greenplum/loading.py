"""Rows on all segments at once: made where they will live, or read from files by gpfdist."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from clusterbench.base.scripts import script
from clusterbench.base.sql import identifier, quoted, statement
from clusterbench.engines import BulkLoad
from clusterbench.engines.postgres.server import Server
from clusterbench.hosts.address import bracketed
from clusterbench.hosts.data_network import data_address

STOP_GPFDIST = "kill $(cat servers.txt 2>/dev/null) 2>/dev/null || true"
PACKAGES = ("/usr/local/greenplum-db/bin", "/usr/local/greenplum-loaders/bin")
"""Where Greenplum's packages put gpfdist."""


def series(first: int, last: int, step: int, segments: int) -> str:
    """For FROM: the whole numbers, each made on a segment. Pure."""
    return statement("greenplum", "series", first=first, last=last, step=step, segments=segments)


def bulk_load(
    server: Server, table: str, host: str, files: Sequence[str], segments: int, *, name: str = "ext"
) -> BulkLoad:
    """A gpfdist for each file, read by all segments at once, and one INSERT that asks them all.

    A readable external table may name no more servers than there are segments, so few segments need several.
    """
    address, first = bracketed(data_address(server.fleet, server.platform, host)), server.platform.gpfdist_port
    places = [f"gpfdist://{address}:{first + number}/{file}" for number, file in enumerate(files)]
    groups = [places[n : n + segments] for n in range(0, len(places), segments)]
    externals = [f"{table}_{name}{number}" for number in range(len(groups))]
    create, drop, let_read = (
        ";\n".join(
            statement(
                "greenplum",
                kind,
                external=identifier(ext),
                table=identifier(table),
                places=_texts(group),
                login=sql.Identifier(server.driver.login),
            )
            for ext, group in zip(externals, groups, strict=True)
        )
        for kind in ("create_external", "drop_external", "let_read")
    )
    rows = " UNION ALL ".join(statement("tables", "rows", table=identifier(name)) for name in externals)
    start = script("greenplum/start_gpfdist", program_path=_program_path(server), first_port=first, servers=len(files))
    return BulkLoad(
        streams=[[f"INSERT INTO {quoted(table)} {rows}"]],
        before=start,
        after=STOP_GPFDIST,
        create=";\n".join([drop, create, *([let_read] if server.driver.login != server.database.login else [])]),
        drop=drop,
    )


def _texts(values: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(sql.Literal(value) for value in values)


def _program_path(server: Server) -> str:
    """Where gpfdist may be besides the login's own path: as on the database's hosts, or as its package puts it."""
    known = server.facts_of_set_up
    own = [str(known["program_directory"])] if "program_directory" in known else []
    return ":".join([*own, *PACKAGES])
