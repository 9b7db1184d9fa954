"""PgBouncer on the database's host, new for every trial, so that no old session keeps old settings.

Where drivers' sessions with the server are encrypted, both of its sides are, too: to the server as the connection says,
to drivers with a certificate that is made for it, which they check.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from clusterbench.base import libpq
from clusterbench.base.connections import Connection
from clusterbench.base.scripts import script
from clusterbench.engines.postgres.server import Server

SERVER_FILES = {"sslrootcert": "server_tls_ca_file", "sslcert": "server_tls_cert_file", "sslkey": "server_tls_key_file"}
"""Parameters of libpq whose value is a file -> PgBouncer's name for it."""
CERTIFICATE, KEY = "own.crt", "own.key"
VALID_DAYS = 30
CARRIES_PREPARED_FROM = (1, 21)
PREPARED_MAX = 200


def version(server: Server) -> str:
    """Of the PgBouncer on the database's host: "1.18.0"; empty where there is none."""
    said = server.on_host("PATH=$PATH:/usr/sbin; pgbouncer --version 2>/dev/null || true", "a shell must be there")
    found = re.search(r"PgBouncer (\d[\d.]*)", said)
    return found[1] if found else ""


def carries_prepared(facts: Mapping[str, Any]) -> bool:
    """Whether the one that set-up found carries the protocol's prepared statements. Pure."""
    parts = str(facts.get("pooler_version") or "0").split(".")
    return tuple(int(part) for part in parts[:2] if part) >= CARRIES_PREPARED_FROM


def unavailable(facts: Mapping[str, Any]) -> dict[str, str]:
    """As ``Engine.unavailable``: nothing, where it is not known yet. Pure."""
    known = facts.get("pooler_version")
    if not known or carries_prepared(facts):
        return {}
    why = f"PgBouncer {known} does not carry the protocol's prepared statements; 1.21 and newer do"
    return {"pooled_prepared": why}


def start(server: Server, mode: str, size: int) -> None:
    """``mode``: session, transaction or statement; ``size``: its connections to the server."""
    stop(server)
    directory, driver = _directory(server), server.driver
    parameters, files = libpq.beside_driver(driver)
    user = f"{_in_users_file(driver.login)} {_in_users_file(password(driver))}\n"
    files = {**files, "pgbouncer.ini": _configuration(server, mode, size, parameters), "users": user}
    if _is_encrypted(server, parameters):
        key, certificate = own_certificate(server.database.host)
        files |= {KEY: key, CERTIFICATE: certificate}
    server.fleet.put(server.host, directory, files)
    remedy = "PgBouncer must be installed and 'pooler_port' of the platform free"
    server.on_host(script("postgres/start_pooler", directory=directory), remedy)


def stop(server: Server) -> None:
    if not server.platform.database_hosts:
        return  # none can have been started
    server.on_host(script("postgres/stop_pooler", directory=_directory(server)), "PgBouncer must belong to the login")


def password(driver: Connection) -> str:
    """What drivers give to the pooler: the login's, or the pooler's own where the server lets that login in without."""
    return driver.password or _own_password()


@cache
def _own_password() -> str:
    return secrets.token_urlsafe()


def as_seen_by_drivers(
    server: Server, parameters: Mapping[str, str], files: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The parameters and files of a session with the server, for one with its pooler."""
    others = {key: value for key, value in parameters.items() if not key.startswith("ssl")}
    kept = {name: text for name, text in files.items() if name not in libpq.FILES.values()}
    if not _is_encrypted(server, parameters):
        return others | {"sslmode": "disable"}, kept
    root = libpq.FILES["sslrootcert"]
    _, certificate = own_certificate(server.database.host)
    return others | {"sslmode": "verify-full", "sslrootcert": root}, kept | {root: certificate}


def _is_encrypted(server: Server, parameters: Mapping[str, str]) -> bool:
    """Whether drivers' sessions with the server are: the connection insists, or the server was seen to offer it."""
    seen = server.facts_of_set_up.get("driver_session") or {}
    return parameters["sslmode"] in {"require", "verify-ca", "verify-full"} or seen.get("tls", "none") != "none"


@cache
def own_certificate(host: str) -> tuple[str, str]:
    """A key and a certificate for that name or address, signed by itself, as PEM; the same in all of this process."""
    from cryptography import x509  # noqa: PLC0415  of all workloads one has a pooler, and not always TLS
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "clusterbench's PgBouncer")])
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks of hosts may differ
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), made.public_bytes(serialization.Encoding.PEM).decode()


def _directory(server: Server) -> str:
    return f"{server.fleet.work_dir(server.host)}/pgbouncer"


def _configuration(server: Server, mode: str, size: int, parameters: Mapping[str, str]) -> str:
    """The text of pgbouncer.ini."""
    host, directory = server.database.host, _directory(server)
    lines = [
        "[databases]",
        f"* = host={host} port={server.port}",  # a name has no quotes in this file
        "[pgbouncer]",
        f"listen_addr = {host}",
        f"listen_port = {server.platform.pooler_port}",
        "unix_socket_dir =",
        "auth_type = scram-sha-256",
        f"auth_file = {directory}/users",
        f"logfile = {directory}/log",
        f"pidfile = {directory}/pid",
        f"pool_mode = {mode}",
        f"default_pool_size = {size}",
        "max_client_conn = 2000",
        "log_connections = 0",
        "log_disconnections = 0",
        "ignore_startup_parameters = extra_float_digits",
        f"server_tls_sslmode = {parameters['sslmode']}",
        *(
            f"{theirs} = {directory}/{parameters[ours]}"
            for ours, theirs in SERVER_FILES.items()
            if parameters.get(ours, libpq.SYSTEM) != libpq.SYSTEM
        ),
    ]
    if carries_prepared(server.facts_of_set_up):
        lines += [f"max_prepared_statements = {PREPARED_MAX}"]  # for the first such versions it is 0 by default
    if _is_encrypted(server, parameters):
        lines += ["client_tls_sslmode = require"]
        lines += [f"client_tls_key_file = {directory}/{KEY}", f"client_tls_cert_file = {directory}/{CERTIFICATE}"]
    return "\n".join([*lines, ""])


def _in_users_file(text: str) -> str:
    """As PgBouncer's file of users has names and passwords: a quote is written twice."""
    return '"' + text.replace('"', '""') + '"'
