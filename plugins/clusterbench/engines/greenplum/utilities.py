"""The cluster's own utilities, on the coordinator's host: gpstop, gpstart, gprecoverseg."""

from __future__ import annotations

from clusterbench.base.scripts import script
from clusterbench.engines.postgres.server import SERVER_TIMEOUT_S, Server

UTILITIES = ("gpstop", "gpstart", "gprecoverseg", "gpstate")


def known(server: Server) -> list[str]:
    """Those that run there; ``Engine.facts`` has looked for them."""
    if "utilities" not in server.facts_of_set_up and server.platform.database_hosts:
        server.facts()
    return list(server.facts_of_set_up.get("utilities", []))


def find(server: Server) -> list[str]:
    """Those that run: they may lack the Python that they need, or the right to connect without a password."""
    look = script("greenplum/find_utilities", utilities=UTILITIES)
    return server.on_host(_environment(server) + look, "a shell must be there").split()


def script_of(server: Server, command: str) -> str:
    """Bash for the coordinator's host that runs one of them."""
    return f"{_environment(server)}{command} >&2 </dev/null\n"


def run(server: Server, command: str, *, timeout_s: int = SERVER_TIMEOUT_S) -> None:
    remedy = f"it must end within {timeout_s} s; its own log is in ~/gpAdminLogs"
    server.on_each({server.host: script_of(server, command)}, remedy, timeout_s=timeout_s)


def _environment(server: Server) -> str:
    return script("postgres/installation", program=server.fact("program_directory")) + script(
        "greenplum/cluster_environment", data_directory=server.fact("data_directory"), port=server.port
    )
