"""From the configuration that a client has to where the masters' web servers are. Pure.

Hadoop's own rules and defaults, of hdfs-default.xml, yarn-default.xml and mapred-default.xml of 3.3 and 3.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop.daemons import DATANODE, JOBHISTORY, NAMENODE, NODEMANAGER, RESOURCEMANAGER, Kind

SITES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
VARIABLE = re.compile(r"\$\{([^${}\s]+)\}")
EXPANSIONS_MAX = 20
ANY_ADDRESS = {"", "0.0.0.0", "::", "[::]"}  # noqa: S104  what stands for "wherever it runs"
POLICIES: Mapping[Kind, str] = {
    NAMENODE: "dfs.http.policy",
    DATANODE: "dfs.http.policy",
    RESOURCEMANAGER: "yarn.http.policy",
    NODEMANAGER: "yarn.http.policy",
    JOBHISTORY: "mapreduce.jobhistory.http.policy",
}


@dataclass(frozen=True)
class ClientConfiguration:
    """Setting -> value, as the site files of a client have them; defaults are not among them."""

    settings: Mapping[str, str]

    def get(self, name: str, default: str = "") -> str:
        """With the variables in it put in, of which those that nobody declares stay as they are."""
        value = self.settings.get(name, default)
        for _ in range(EXPANSIONS_MAX):
            expanded = VARIABLE.sub(lambda found: self.settings.get(found[1], found[0]), value)
            if expanded == value:
                break
            value = expanded
        return value.strip()

    def scheme(self, kind: Kind) -> str:
        """Of the web servers of a kind: https where nothing else is spoken."""
        return "https" if self.get(POLICIES[kind]).upper() == "HTTPS_ONLY" else "http"

    def masters(self, kind: Kind) -> list[str]:
        """Web addresses of the masters of a kind; with high availability several, of which one is active."""
        finders = {NAMENODE: self._namenodes, RESOURCEMANAGER: self._resourcemanagers, JOBHISTORY: self._history}
        found = finders[kind]()
        lost = [address for address in found if address.partition(":")[0] in ANY_ADDRESS or address.startswith("[::]")]
        if lost or not found:
            raise EngineError(
                f"the client's configuration does not name the {kind.name} (found {found or 'nothing'}); it "
                "needs the site files that clients are given, with " + NEEDED[kind]
            )
        return [f"{self.scheme(kind)}://{address}" for address in found]

    def _namenodes(self) -> list[str]:
        service = urlsplit(self.get("fs.defaultFS")).netloc
        key = f"dfs.namenode.{self.scheme(NAMENODE)}-address"
        port = self._port(NAMENODE)
        if ids := self._listed(f"dfs.ha.namenodes.{service}"):
            return [
                self._address(f"{key}.{service}.{one}", f"dfs.namenode.rpc-address.{service}.{one}", port)
                for one in ids
            ]
        own = self.get(f"{key}.{service}") or self.get(key)
        return [_reached(own, service, port)]

    def _resourcemanagers(self) -> list[str]:
        is_several = self.get("yarn.resourcemanager.ha.enabled").lower() == "true"
        ids = self._listed("yarn.resourcemanager.ha.rm-ids") if is_several else []
        kind = ".https" if self.scheme(RESOURCEMANAGER) == "https" else ""
        key, host = f"yarn.resourcemanager.webapp{kind}.address", "yarn.resourcemanager.hostname"
        port = self._port(RESOURCEMANAGER)
        return [self._address(f"{key}{end}", f"{host}{end}", port) for end in ([f".{one}" for one in ids] or [""])]

    def _history(self) -> list[str]:
        kind = ".https" if self.scheme(JOBHISTORY) == "https" else ""
        key = f"mapreduce.jobhistory.webapp{kind}.address"
        return [self._address(key, "mapreduce.jobhistory.address", self._port(JOBHISTORY))]

    def _address(self, key: str, host_key: str, port: int) -> str:
        return _reached(self.get(key), self.get(host_key), port)

    def _listed(self, key: str) -> list[str]:
        return [one.strip() for one in self.get(key).split(",") if one.strip()]

    def _port(self, kind: Kind) -> int:
        return kind.https_port if self.scheme(kind) == "https" else kind.http_port


NEEDED: Mapping[Kind, str] = {
    NAMENODE: "fs.defaultFS, and dfs.namenode.http-address or, with high availability, dfs.ha.namenodes.… and theirs",
    RESOURCEMANAGER: "yarn.resourcemanager.hostname, or yarn.resourcemanager.webapp.address",
    JOBHISTORY: "mapreduce.jobhistory.webapp.address, or mapreduce.jobhistory.address",
}


def client_configuration(texts: Mapping[str, str]) -> ClientConfiguration:
    """``texts``: file -> XML. Raises EngineError for one that is no configuration."""
    settings: dict[str, str] = {}
    for file, text in texts.items():
        try:
            root = ET.fromstring(text)  # noqa: S314  the owner's own
        except ET.ParseError as error:
            raise EngineError(f"{file} of the client's configuration is not XML: {error}") from None
        for entry in root.iter("property"):
            settings[(entry.findtext("name") or "").strip()] = entry.findtext("value") or ""
    return ClientConfiguration(settings)


def _reached(address: str, host: str, port: int) -> str:
    """``address`` where it says a host; one that stands for any is that of ``host``, which may have a port."""
    name, own_port = _parts(address)
    if name in ANY_ADDRESS:
        name = _parts(host)[0]
    return f"{name}:{own_port or port}"


def _parts(address: str) -> tuple[str, str]:
    """Host, in brackets where it is of IPv6, and port; empty what is not said."""
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", address)
    return (found[1], found[2] or "") if found else (address, "")
