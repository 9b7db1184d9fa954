"""The settings in force, as the daemons tell them that read a setting's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as ET

from clusterbench.engines.hadoop.client import HadoopClient

FROM_FILES = "site.xml</source>"
"""At the end of a property's line, where a file has it; else it is a default, or set by the daemon itself."""


def in_force(
    client: HadoopClient, urls: Mapping[str, str], declared: Mapping[str, str], names: Iterable[str]
) -> dict[str, str]:
    """Setting -> value; one that is not as declared, or as the first daemon has it, is reported with its daemon.

    ``urls``: daemon -> its web server.

    What only tasks read is reported by the JobHistory server, whose defaults are those of a job. A default is reported
    only if no file of any daemon has the setting.
    """
    wanted = list(names)
    told_by = _read_back(client, urls, wanted)
    found: dict[str, str] = {}
    for of_files in (True, False):
        missing = [name for name in wanted if name not in found]
        for daemon, told in told_by.items():
            for name in missing:
                value, is_of_file = told.get(name, ("", False))
                if name not in told or (of_files and not is_of_file):
                    continue
                wanted_value = declared.get(name, found.get(name, value))
                differs = value != wanted_value
                if name not in found or (differs and found[name] == wanted_value):
                    found[name] = f"{value} ({daemon})" if differs else value
    return found


def _read_back(
    client: HadoopClient, urls: Mapping[str, str], names: Iterable[str]
) -> dict[str, dict[str, tuple[str, bool]]]:
    """Daemon -> setting -> value, and whether a file has it; of those that answer."""
    wanted = [f"<name>{name}</name>" for name in names]
    if not wanted:
        return {}
    daemons = {f"{url}/conf?format=xml": daemon for daemon, url in urls.items()}
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for url, lines in client.get_each(daemons, wanted).items():
        told = found[daemons[url]] = {}
        for line in lines:
            entry = ET.fromstring(line.partition("</configuration>")[0])  # noqa: S314  a daemon's own
            told[entry.findtext("name") or ""] = (entry.findtext("value") or "", FROM_FILES in line)
    return found
