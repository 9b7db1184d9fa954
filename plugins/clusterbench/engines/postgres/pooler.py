"""PgBouncer on the database's host, new for every trial, so that no old session keeps old settings."""

from __future__ import annotations

from clusterbench.base.scripts import script
from clusterbench.engines.postgres.server import Server


def start(server: Server, mode: str, size: int) -> None:
    """``mode``: session, transaction or statement; ``size``: its connections to the server."""
    stop(server)
    directory = _directory(server)
    user = f"{_in_users_file(server.database.login)} {_in_users_file(server.database.password)}\n"
    server.fleet.put(server.host, directory, {"pgbouncer.ini": _configuration(server, mode, size), "users": user})
    remedy = "PgBouncer must be installed and 'pooler_port' of the platform free"
    server.on_host(script("postgres/start_pooler", directory=directory), remedy)


def stop(server: Server) -> None:
    if not server.platform.database_hosts:
        return  # none can have been started
    server.on_host(script("postgres/stop_pooler", directory=_directory(server)), "PgBouncer must belong to the login")


def _directory(server: Server) -> str:
    return f"{server.fleet.work_dir(server.host)}/pgbouncer"


def _configuration(server: Server, mode: str, size: int) -> str:
    """The text of pgbouncer.ini."""
    host, directory = server.database.host, _directory(server)
    return (
        f"[databases]\n* = host={host} port={server.port}\n"  # a name has no quotes in this file
        "[pgbouncer]\n"
        f"listen_addr = {host}\nlisten_port = {server.platform.pooler_port}\nunix_socket_dir =\n"
        "auth_type = scram-sha-256\n"
        f"auth_file = {directory}/users\nlogfile = {directory}/log\npidfile = {directory}/pid\n"
        f"pool_mode = {mode}\ndefault_pool_size = {size}\nmax_client_conn = 2000\n"
        "log_connections = 0\nlog_disconnections = 0\nignore_startup_parameters = extra_float_digits\n"
    )


def _in_users_file(text: str) -> str:
    """As PgBouncer's file of users has names and passwords: a quote is written twice."""
    return '"' + text.replace('"', '""') + '"'
