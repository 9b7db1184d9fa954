"""What the segments' logs say of the interconnect, counted where the logs are."""

from __future__ import annotations

from clusterbench.base.scripts import Value
from clusterbench.engines.postgres.server import Server, instance_script
from clusterbench.engines.state import by_host

LOGS_S = 60
INTERCONNECT_WARNING = '^[0-9]{4}-.*,"WARNING","[0-9A-Z]*","interconnect may (have )?encountered a network error'
"""A datagram was sent again a hundred times in a row (``gp_interconnect_min_retries_before_timeout``) without an
acknowledgement; told once a statement and process (checkNetworkTimeout of Greenplum's ic_udpifc.c)."""


def mark(server: Server, name: str) -> None:
    """Note where the logs end now, below ``name`` in every host's work folder."""
    if server.platform.database_hosts:
        _on_logs(server, "greenplum/mark_logs", name)


def counted_since(server: Server, name: str) -> dict[str, int]:
    """The marks are on the hosts, each of which counts in its own logs, and there only in what came since."""
    if not server.platform.database_hosts:
        return {}
    said = _on_logs(server, "greenplum/count_logged", name, pattern=INTERCONNECT_WARNING)
    return {"interconnect_warnings": sum(int(line) for lines in said.values() for line in lines.split())}


def _on_logs(server: Server, script: str, name: str, **values: Value) -> dict[str, str]:
    program = server.fact("program_directory")
    placed = by_host(server.instances())
    scripts = {
        host: instance_script(script, program, placed[host], marks=f"{work}/{name}", **values)
        for host, work in server.fleet.work_dirs(placed).items()
    }
    return server.on_each(scripts, "the logs must be readable", timeout_s=LOGS_S)
