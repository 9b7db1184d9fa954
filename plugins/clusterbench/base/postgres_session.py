"""Sessions with servers that speak PostgreSQL's protocol: how every one of ours is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from clusterbench.base import libpq
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
OWN = "clusterbench"
"""What our sessions are called on a server; those of drivers have another name."""
PORT = 5432


def connect(
    connection: Connection,
    dbname: str,
    rows: RowFactory[Row],
    *,
    autocommit: bool = True,
    options: str = "",
    local_port: int | None = None,
) -> psycopg.Connection[Row]:
    """A session of ours, in autocommit mode unless told otherwise. Raises psycopg's own errors.

    ``rows`` makes the rows: ``tuple_row``, ``dict_row``. ``options`` are those of the server's command line, besides
    those of the connection. ``local_port`` is a port of this machine that leads to the server; its certificate is
    compared with the connection's host all the same.
    """
    import psycopg  # noqa: PLC0415  this module is imported where DAGs are parsed

    with parameters(connection, dbname, options=options, local_port=local_port) as found:
        return psycopg.connect(autocommit=autocommit, row_factory=rows, **found)


@contextmanager
def parameters(
    connection: Connection, dbname: str, *, options: str = "", local_port: int | None = None
) -> Iterator[dict[str, Any]]:
    """Libpq's, of a session as ``connect`` opens it; files with certificates are there for as long as the block."""
    with libpq.with_files(connection) as found:
        yield {
            "host": connection.host,
            "port": local_port or connection.port or PORT,
            "user": connection.login,
            "password": connection.password,
            "dbname": dbname,
            "application_name": OWN,
            "connect_timeout": CONNECT_S,
            "tcp_user_timeout": CUT_OFF_MS,
            **KEEPALIVES,
            **found,
            "options": f"{found.get('options', '')} {options}".strip(),
            **({"hostaddr": "127.0.0.1"} if local_port else {}),
        }


def is_up(connection: Connection, *, local_port: int | None = None) -> bool:
    """Whether a server answers there at all, even with a refusal. One that is starting or stopping does not.

    It is asked without TLS, so that a wrong certificate is told from a server that is away.
    """
    import psycopg  # noqa: PLC0415  as above
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415

    place = make_conninfo(
        host=connection.host,
        port=local_port or connection.port or PORT,
        user=connection.login,
        dbname="postgres",
        sslmode="disable",
        connect_timeout=CONNECT_S,
        **({"hostaddr": "127.0.0.1"} if local_port else {}),
    )
    return psycopg.pq.PGconn.ping(place.encode()) == psycopg.pq.Ping.OK


def first_line(error: Exception) -> str:
    """What a server said, without its hints and excerpts; the kind of error where it said nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
