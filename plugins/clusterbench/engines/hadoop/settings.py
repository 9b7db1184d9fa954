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
    """Setting -> value; one that is not as declared, or as the first daemon has it, is told with its daemon.

    ``urls``: daemon -> its web server.

    What only tasks read is told by the JobHistory server, whose defaults are those of a job. A default is told only
    where no file of any daemon has the setting.
    """
    wanted = list(names)
    found: dict[str, str] = {}
    for of_files in (True, False):
        missing = [name for name in wanted if name not in found]
        for daemon, told in _read_back(client, urls, missing, of_files=of_files).items():
            for name in missing:
                if name not in told:
                    continue
                wanted_value = declared.get(name, found.get(name, told[name]))
                differs = told[name] != wanted_value
                if name not in found or (differs and found[name] == wanted_value):
                    found[name] = f"{told[name]} ({daemon})" if differs else told[name]
    return found


def _read_back(
    client: HadoopClient, urls: Mapping[str, str], names: Iterable[str], *, of_files: bool
) -> dict[str, dict[str, str]]:
    """Daemon -> setting -> value; of those that answer."""
    wanted = [f"<name>{name}</name>" for name in names]
    if not wanted:
        return {}
    daemons = {f"{url}/conf?format=xml": daemon for daemon, url in urls.items()}
    found: dict[str, dict[str, str]] = {}
    for url, lines in client.get_each(daemons, wanted).items():
        whole = (line.partition("</configuration>")[0] for line in lines if not of_files or FROM_FILES in line)
        entries = [ET.fromstring(line) for line in whole]  # noqa: S314  a daemon's own
        found[daemons[url]] = {e.findtext("name") or "": e.findtext("value") or "" for e in entries}
    return found
