"""Hadoop's parameters as factors that daemons read when they start: which of them a trial may set, and where. Pure."""

from __future__ import annotations

from clusterbench.engines.hadoop import configuration
from clusterbench.spec.leave import why_not as no_leave
from clusterbench.spec.platform import Platform

BEGINNINGS = ("dfs.", "ha.", "hadoop.", "ipc.", "mapreduce.", "net.", "yarn.")
FIXED_BEGINNINGS = ("hadoop.http.", "hadoop.proxyuser.", "hadoop.security.", "hadoop.ssl.", "net.topology.")
FIXED_ENDS = (
    "address",
    "-host",
    "hostname",
    ".port",
    "dir",
    "dirs",
    "dir.prefix",
    "keytab",
    "keytab.file",
    "principal",
)
"""Of what says where daemons are, where they keep data, and whom they let in."""
SIZES = {"node_mb", "node_vcores"}
"""Placeholders of the templates that are no place: what a worker offers to containers."""


def why_not(name: str, platform: Platform) -> str:
    """Why a trial cannot set it; empty where it can, which takes a restart of all daemons."""
    if not name.startswith(BEGINNINGS):
        return f"{name} is no parameter of Hadoop: those begin with {', '.join(BEGINNINGS)} or io."
    if _is_fixed(name):
        return (
            f"{name} follows from the platform's file: it says where daemons are, where they keep data, or whom they "
            "let in. To compare two values of it, measure two platforms in one run whose files differ in it"
        )
    if platform.is_managed:
        return (
            f"{name} is read by Hadoop's daemons when they start, and those of a managed Hadoop are never restarted by "
            "clusterbench; ask who runs it to change it between two runs, or vary what jobs read (mapreduce.*, "
            "yarn.app.mapreduce.*, dfs.client.*, dfs.blocksize, io.*)"
        )
    if refused := no_leave(platform, "restart"):
        return f"{name} is read by Hadoop's daemons when they start; {refused}"
    return ""


def _is_fixed(name: str) -> bool:
    return (
        name.startswith(FIXED_BEGINNINGS)
        or name.endswith(FIXED_ENDS)
        or name in configuration.of_security()
        or bool(configuration.placeholders(name) - SIZES)
    )
