"""Sessions with servers that speak PostgreSQL's protocol: how every one of ours is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from clusterbench.base.connections import Connection

if TYPE_CHECKING:
    import psycopg
    from psycopg.rows import RowFactory

    Row = TypeVar("Row")

KEEPALIVES: Mapping[str, Any] = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""Of every session: one whose network was cut ends after a minute. A server that is frozen goes on to answer these."""
CUT_OFF_MS = 60_000
"""So long may what was sent stay without an acknowledgement."""
CONNECT_S = 10
PORT = 5432


def connect(
    connection: Connection, dbname: str, rows: RowFactory[Row], *, autocommit: bool = True, options: str = ""
) -> psycopg.Connection[Row]:
    """A session of ours, in autocommit mode unless told otherwise. Raises psycopg's own errors.

    ``rows`` makes the rows: ``tuple_row``, ``dict_row``. ``options`` are those of the server's command line.
    """
    import psycopg  # noqa: PLC0415  this module is imported where DAGs are parsed

    return psycopg.connect(
        host=connection.host,
        port=connection.port or PORT,
        user=connection.login,
        password=connection.password,
        dbname=dbname,
        application_name="clusterbench",
        connect_timeout=CONNECT_S,
        autocommit=autocommit,
        row_factory=rows,
        options=options,
        tcp_user_timeout=CUT_OFF_MS,
        **KEEPALIVES,
    )


def first_line(error: Exception) -> str:
    """What a server said, without its hints and excerpts; the kind of error where it said nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
