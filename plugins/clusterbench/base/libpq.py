"""What the extra of a Postgres connection means to libpq: TLS and options.

It is read as ``apache-airflow-providers-postgres`` reads it, which hands every key to the library but some of its own.
So it is for our own sessions, and for those of psql, pgbench and the pooler on hosts. A key that libpq does not know is
an error here, with its name.

Certificates and keys are files to libpq. The extra may name a file of the worker, or hold the text of one (PEM), so
that a secrets backend is all that is needed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clusterbench.base.connections import Connection
from clusterbench.base.errors import ClusterbenchError, suggest

OF_THE_PROVIDER = {
    *("iam", "redshift", "redshift-serverless", "cursor", "cluster-identifier", "workgroup-name", "aws_conn_id"),
    *("sqlalchemy_scheme", "sqlalchemy_query", "azure_conn_id"),
}
"""Its ``PostgresHook.ignored_extra_options``: they are no parameters of libpq."""
OURS = {"host", "hostaddr", "port", "user", "password", "dbname", "application_name", "connect_timeout", "passfile"}
"""What a connection has fields for, and what we set."""
SECRET = {"sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret"}
"""A driver would have them among its arguments, where everybody on its host sees them."""
FILES = {"sslrootcert": "root.crt", "sslcert": "client.crt", "sslkey": "client.key", "sslcrl": "root.crl"}
"""Parameters whose value is a file -> its name in the folder of a driver."""
SYSTEM = "system"
"""As ``sslrootcert``: the system's own authorities, and no file."""
SSL_MODE = "prefer"
"""libpq's own default: encrypted where the server offers it. It is said, so that no login's environment decides."""


def parameters(connection: Connection) -> dict[str, str]:
    """What a session is opened with beside host, port, login, password and database. Raises ClusterbenchError."""
    import psycopg  # noqa: PLC0415  this module is imported where DAGs are parsed

    known = {each.keyword.decode() for each in psycopg.pq.Conninfo.get_defaults()}
    found = {"sslmode": SSL_MODE}
    for key, value in connection.extra.items():
        if key in OF_THE_PROVIDER:
            continue
        if why := _why_not(key, known):
            raise ClusterbenchError(f"connection {connection.id!r}: its extra has {key!r}, {why}")
        found[key] = str(value)
    return found


def _why_not(key: str, known: set[str]) -> str:
    """Why this key of an extra is no parameter of a session; empty for one that is."""
    if key in OURS:
        return "which its own fields say, or clusterbench sets; take it out"
    if key in SECRET:
        return "which everybody on a driver's host could read; use a key without one"
    return "" if key in known else f"which is not a parameter of libpq{suggest(key, sorted(known))}"


def beside_driver(connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
    """For a driver: its parameters, whose files are in its folder, and those files, by name."""
    found, files = parameters(connection), dict[str, str]()
    for key, name in FILES.items():
        if key in found and found[key] != SYSTEM:
            files[name] = _inline(found[key]) or _text_of(connection, key, found[key])
            found[key] = name
    return found, files


def _inline(value: str) -> str:
    """The text of a file that stands in the extra itself; empty where it names one."""
    return value.strip() + "\n" if value.lstrip().startswith("-----BEGIN") else ""


def _text_of(connection: Connection, key: str, path: str) -> str:
    try:
        return Path(path).expanduser().read_text()
    except (OSError, ValueError) as error:
        raise ClusterbenchError(
            f"connection {connection.id!r}: {key!r} of its extra cannot be read here: {error}; name a file of this "
            "machine, or put its text there (-----BEGIN …)"
        ) from None


@contextmanager
def with_files(connection: Connection) -> Iterator[Mapping[str, str]]:
    """The parameters for a session of this process. Texts are in files, for its owner only, until the block ends."""
    found = parameters(connection)
    inline = {key: text for key in FILES if (text := _inline(found.get(key, "")))}
    if not inline:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="clusterbench-tls-") as folder:
        for key, text in inline.items():
            file = Path(folder) / FILES[key]
            file.touch(mode=0o600)
            file.write_text(text)
            found[key] = str(file)
        yield found
