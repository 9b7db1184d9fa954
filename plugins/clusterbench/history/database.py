"""The history database: how it is reached, how its tables come to be, and how writers keep out of each other's way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from clusterbench.base import postgres_session
from clusterbench.base.connections import HISTORY, Connection
from clusterbench.base.errors import HistoryError
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.postgres_session import PORT, first_line

CONNECTION_ID = HISTORY
SCHEMA = "history"
"""Where readers look. A rebuild makes another beside it, and the two change names when it is whole."""
SCRIPTS = Path(__file__).parent / "migrations"
VERSIONS = sorted(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))
"""Files are named by their revision."""
NEWEST = VERSIONS[-1]
WRITERS = 4_270_881
"""Key of PostgreSQL's advisory lock that whoever writes holds: loads are short, and none waits for another's half."""

Database: TypeAlias = psycopg.Connection[tuple[Any, ...]]


def connect(connection: Connection, schema: str = SCHEMA, *, autocommit: bool = True) -> Database:
    """Raises HistoryError in plain words. Each statement is a transaction of its own, unless a block makes one."""
    try:
        return postgres_session.connect(
            connection,
            connection.schema or "history",
            tuple_row,
            autocommit=autocommit,
            options=_options(schema),
        )
    except psycopg.OperationalError as error:
        raise HistoryError(
            f"{where(connection)}: cannot be reached ({first_line(error)}). Is it up, and are address, login and "
            f"password of connection {connection.id!r} right? Nothing is lost: archives hold everything, and "
            "'clusterbench history load' loads what is missing"
        ) from None


@contextmanager
def opened(connection: Connection, schema: str = SCHEMA) -> Iterator[Database]:
    """A connection for as long as the block lasts; what goes wrong in it is told in plain words."""
    with connect(connection, schema) as db, in_plain_words(connection):
        yield db


@contextmanager
def for_loading(connection: Connection) -> Iterator[Database]:
    """The same, with tables of this version of clusterbench."""
    migrate(connection)
    with opened(connection) as db:
        yield db


@contextmanager
def in_plain_words(connection: Connection) -> Iterator[None]:
    try:
        yield
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise HistoryError(
            f"{where(connection)}: its tables are not those of this version of clusterbench ({first_line(error)}); "
            "bring them up to date with: clusterbench history load"
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise HistoryError(
            f"{where(connection)}: login {connection.login!r} may not do that ({first_line(error)}); whoever loads "
            "must own the database, see docs/history.md"
        ) from None
    except psycopg.OperationalError as error:
        raise HistoryError(
            f"{where(connection)}: stopped answering ({first_line(error)}). Nothing was loaded by half; try again"
        ) from None


def where(connection: Connection) -> str:
    return f"history database {connection.schema or 'history'!r} at {connection.host}:{connection.port or PORT}"


def migrate(connection: Connection, schema: str = SCHEMA, to: str = NEWEST) -> None:
    """Bring the tables up to date; quick where they are. Two at once: the second waits, then finds it done.

    ``to`` an older version, for an older clusterbench: what newer tables had is only derived, and archives keep it.
    """
    if to not in VERSIONS:
        raise HistoryError(f"version {to!r}: there is none; allowed are {', '.join(VERSIONS)}")
    with opened(connection, schema) as db:
        there = version(db)
        if there == to:
            return
    import sqlalchemy  # noqa: PLC0415  a second or more to import, mostly for nothing
    from alembic import command, util  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    is_older = sqlalchemy.__version__.startswith("1.")  # as Airflow 3.1 wants it; it does not know psycopg 3
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg2://" if is_older else "postgresql+psycopg://",
        creator=partial(_by_psycopg2 if is_older else _in_transactions, connection, schema),
        poolclass=sqlalchemy.pool.NullPool,
    )
    with in_plain_words(connection):
        try:
            with engine.begin() as transaction:
                transaction.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")
                transaction.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                config.attributes["connection"] = transaction
                move = command.downgrade if there and there > to else command.upgrade
                move(config, to)
        except sqlalchemy.exc.DBAPIError as error:
            if is_older:
                raise HistoryError(f"{where(connection)}: {first_line(error.orig or error)}") from None
            raise error.orig or error from None
        except util.CommandError as error:
            raise HistoryError(
                f"{where(connection)}: was made by another version of clusterbench ({error}); install that one and "
                f"run 'clusterbench history migrate --to {NEWEST}', or make it again: drop its schema and run "
                "'clusterbench history rebuild'"
            ) from None


def _options(schema: str) -> str:
    return f"-c search_path={schema} -c timezone=UTC -c client_min_messages=warning"


def _in_transactions(connection: Connection, schema: str) -> Database:
    return connect(connection, schema, autocommit=False)


def _by_psycopg2(connection: Connection, schema: str) -> Any:
    """It comes with Airflow's provider for PostgreSQL."""
    import psycopg2  # type: ignore[import-untyped]  # noqa: PLC0415  only where there is no newer SQLAlchemy

    with postgres_session.parameters(connection, connection.schema or "history", options=_options(schema)) as found:
        return psycopg2.connect(**found)


def version(db: Database) -> str | None:
    """Of the tables; None where there are none."""
    if db.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return None
    found = db.execute("SELECT version_num FROM alembic_version").fetchone()
    return found[0] if found else None


@contextmanager
def writing(db: Database) -> Iterator[None]:
    """A transaction that no other writer's runs beside."""
    with db.transaction():
        db.execute(sql.SQL("SELECT pg_advisory_xact_lock({})").format(WRITERS))
        yield


def run_file(db: Any, name: str) -> None:
    """The statements of ``include/sql/history/<name>.sql``; ``db`` as SQLAlchemy hands it on."""
    text = own_or_built_in(f"include/sql/history/{name}.sql").read_text(encoding="utf-8")
    with db.cursor() as cursor:
        cursor.execute(text)
