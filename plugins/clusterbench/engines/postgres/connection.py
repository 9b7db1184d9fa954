"""How a session with a server is opened, and how long its answer is waited for."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from clusterbench.base import libpq, postgres_session
from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.postgres_session import first_line


@contextmanager
def connect(
    database: Connection, where: str, *, local_port: int | None = None, options: str = ""
) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A session in autocommit mode; errors come out as EngineError with the remedy. ``where`` begins each of them.

    ``local_port`` and ``options`` are as ``postgres_session.connect`` has them.
    """
    dbname = database.schema or database.login
    is_open = False
    try:
        with _opened(database, dbname, local_port, options) as connection:
            is_open = True
            yield connection
    except psycopg.errors.DiskFull as error:
        raise EngineError(f"{where}: its disk is full: {first_line(error)}; free some space there") from None
    except psycopg.OperationalError as error:
        if is_open and not _broke(error):
            raise _refused(where, error) from None
        said = first_line(error).replace(f'"127.0.0.1", port {local_port}', "it, through the client host,")
        is_away = is_open or _was_away(error, database, local_port)
        raise (EngineAwayError if is_away else EngineError)(
            f"{where}: cannot be used: {said}; check that the server is up and that connection {database.id!r} is "
            f"right. {_tls(database)}"
        ) from None
    except psycopg.Error as error:
        raise _refused(where, error) from None


def _refused(where: str, error: psycopg.Error) -> EngineError:
    return EngineError(f"{where}: refused a statement: {first_line(error)}")


def _opened(
    database: Connection, dbname: str, local_port: int | None, options: str
) -> psycopg.Connection[dict[str, Any]]:
    """A second time, where the server answers: it may have come back since it failed. A mistake is refused again."""

    def opened() -> psycopg.Connection[dict[str, Any]]:
        return postgres_session.connect(database, dbname, dict_row, local_port=local_port, options=options)

    try:
        return opened()
    except psycopg.OperationalError as error:
        if _was_away(error, database, local_port):
            raise
        return opened()


def _was_away(error: psycopg.OperationalError, database: Connection, local_port: int | None) -> bool:
    """A session that could not be opened: no answer came, whether or not one would come now."""
    is_late = isinstance(error, psycopg.errors.ConnectionTimeout)
    return is_late or not postgres_session.is_up(database, local_port=local_port)


def _broke(error: psycopg.OperationalError) -> bool:
    """The session itself was lost: the server was stopped or died, or its network was cut."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def _tls(database: Connection) -> str:
    """What a session with it tries: servers tell in their own language what they miss."""
    found = libpq.parameters(database)
    without = [key for key in ("sslrootcert", "sslcert", "sslkey") if key not in found]
    return f"(Its extra: sslmode {found['sslmode']}" + (f", without {', '.join(without)})" if without else ")")


def as_options(settings: Mapping[str, str]) -> str:
    """Settings as words of the server's command line, in which spaces and backslashes need one before them."""
    escaped = {name: value.replace("\\", "\\\\").replace(" ", "\\ ") for name, value in settings.items()}
    return " ".join(f"-c {name}={value}" for name, value in escaped.items())


@contextmanager
def shut_after(seconds: float | None, connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Break the connection from this side when the time is up: a frozen server neither answers nor closes it."""
    if seconds is None:
        yield
        return
    late = threading.Event()

    def shut() -> None:
        late.set()
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.OperationalError:
        if late.is_set():
            raise psycopg.OperationalError(f"no answer within {seconds:g} s; it is frozen or overloaded") from None
        raise
    finally:
        timer.cancel()
