"""The settings in force, as the daemons tell them that read a setting's file."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from clusterbench.engines.hadoop.cluster import Cluster

READ_BACK = """\
curl -sS --fail --max-time 30 'http://{address}:{port}/conf?format=xml' | grep -F 'site.xml</source>'
"""
"""One property a line, of those that come from files."""


def in_force(cluster: Cluster, names: Iterable[str]) -> dict[str, str]:
    """Setting -> value; one that is not as declared is told with its daemon.

    What only tasks read is told by the JobHistory server, whose defaults are those of a job.
    """
    wanted, declared = set(names), cluster.configuration.declared()
    found: dict[str, str] = {}
    for daemon, told in _read_back(cluster).items():
        for name in wanted & set(told):
            differs = told[name] != declared.get(name)
            if name not in found or (differs and found[name] == declared.get(name)):
                found[name] = f"{told[name]} ({daemon})" if differs else told[name]
    return found


def _read_back(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Daemon -> setting -> value, of what it has from files."""
    scripts: dict[str, str] = {}
    for daemon in cluster.daemons:
        address = cluster.configuration.addresses[daemon.host]
        ask = f"echo '# {daemon.name}'\n" + READ_BACK.format(address=address, port=daemon.kind.http_port)
        scripts[daemon.host] = scripts.get(daemon.host, "") + ask
    said = cluster.on_each(scripts, "its web server must answer")
    found: dict[str, dict[str, str]] = {}
    for lines in (output.splitlines() for output in said.values()):
        name = ""
        for line in lines:
            if line.startswith("# "):
                name = line[2:]
            elif line.startswith("<property>"):
                entry = ET.fromstring(line)  # noqa: S314  a daemon's own
                found.setdefault(name, {})[entry.findtext("name") or ""] = entry.findtext("value") or ""
    return found
