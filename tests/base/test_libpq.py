"""The extra of a Postgres connection, as apache-airflow-providers-postgres and libpq mean it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import psycopg
import pytest
from airflow.providers.postgres.hooks.postgres import PostgresHook

from clusterbench.base import libpq
from clusterbench.base.connections import Connection
from clusterbench.base.errors import ClusterbenchError

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"


def connection(**extra: Any) -> Connection:
    return Connection("db", "db.example", 5432, "bench", "s3cret", "bench", extra)


def test_what_the_provider_keeps_to_itself_is_no_parameter() -> None:
    assert PostgresHook.ignored_extra_options == libpq.OF_THE_PROVIDER
    found = libpq.parameters(connection(iam=False, cursor="dictcursor", sslmode="require", options="-c jit=off"))
    assert found == {"sslmode": "require", "options": "-c jit=off"}


def test_without_a_word_it_is_said_what_libpq_does() -> None:
    """Else PGSSLMODE of a login would decide, which nobody sees."""
    assert libpq.parameters(connection()) == {"sslmode": "prefer"}


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"sslmod": "require"}, "its extra has 'sslmod', which is not a parameter of libpq; did you mean 'sslmode'?"),
        ({"dbname": "x"}, "its extra has 'dbname', which its own fields say, or clusterbench sets; take it out"),
        ({"sslpassword": "x"}, "its extra has 'sslpassword', which everybody on a driver's host could read"),
        ({"sslrootcert": "/nowhere/ca"}, "'sslrootcert' of its extra cannot be read here: "),
    ],
)
def test_what_cannot_be_meant_is_named(extra: dict[str, Any], said: str) -> None:
    with pytest.raises(ClusterbenchError) as caught:
        libpq.beside_driver(connection(**extra))
    assert str(caught.value).startswith("connection 'db': ") and said in str(caught.value)


def test_drivers_have_the_files_beside_them_wherever_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("of a file\n")
    found = connection(sslmode="verify-full", sslrootcert=str(file), sslcert=PEM, sslkey=PEM)
    parameters, files = libpq.beside_driver(found)
    assert parameters == {
        "sslmode": "verify-full",
        "sslrootcert": "root.crt",
        "sslcert": "client.crt",
        "sslkey": "client.key",
    }
    assert files == {"root.crt": "of a file\n", "client.crt": PEM + "\n", "client.key": PEM + "\n"}


def test_the_system_s_authorities_are_no_file() -> None:
    assert libpq.beside_driver(connection(sslrootcert="system")) == ({"sslmode": "prefer", "sslrootcert": "system"}, {})


def test_texts_are_private_files_for_as_long_as_the_session_is_opened() -> None:
    with libpq.with_files(connection(sslcert=PEM, sslkey=PEM)) as found:
        key = Path(found["sslkey"])
        assert stat.S_IMODE(key.stat().st_mode) == 0o600 and key.read_text() == PEM + "\n"
        psycopg.conninfo.make_conninfo(**found)
    assert not key.exists()
