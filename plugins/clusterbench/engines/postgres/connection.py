"""How a session with a server is opened, and how long its answer is waited for."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from clusterbench.base import postgres_session
from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineError
from clusterbench.base.postgres_session import first_line


@contextmanager
def connect(database: Connection, where: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A session in autocommit mode; errors come out as EngineError with the remedy. ``where`` begins each of them."""
    try:
        with postgres_session.connect(database, database.schema or database.login, dict_row) as connection:
            yield connection
    except psycopg.errors.DiskFull as error:
        raise EngineError(f"{where}: its disk is full: {first_line(error)}; free some space there") from None
    except psycopg.OperationalError as error:
        raise EngineError(
            f"{where}: cannot be used: {first_line(error)}; is the server up, and is connection {database.id!r} right?"
        ) from None
    except psycopg.Error as error:
        raise EngineError(f"{where}: refused a statement: {first_line(error)}") from None


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
