"""From a platform's file to Hadoop's configuration: slots, containers, topology, the rendered templates. Pure.

Templates are ``include/hadoop/*.xml``. Parameters are those of paper 002, Appendix A, under today's names.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from shlex import split
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from clusterbench.base.errors import EngineError
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.scripts import script
from clusterbench.spec.placed import slots
from clusterbench.spec.platform import Hadoop, KerberosServices, Platform

TEMPLATES = "include/hadoop"
SECURE_TEMPLATES = f"{TEMPLATES}/kerberos"
DAEMON_USER = "hadoop"
"""Before the slash of the daemons' principals."""
SECURITY = (
    "hadoop.security.authentication",
    "hadoop.security.authorization",
    "hadoop.rpc.protection",
    "dfs.data.transfer.protection",
    "dfs.encrypt.data.transfer",
    "dfs.http.policy",
)
"""Who is let in, and what is encrypted on its way: a part of what jobs cost."""
TLS_FILES = ("ssl-server.xml", "ssl-client.xml")
SITES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml")
PREFIXES = {
    "dfs.": "hdfs-site.xml",
    "yarn.app.mapreduce.": "mapred-site.xml",
    "mapreduce.": "mapred-site.xml",
    "yarn.": "yarn-site.xml",
}
"""Where a setting belongs that no template has; others are core-site's."""
REPLICAS_MAX = 10
ALLOCATION_MB = 256
"""Containers are whole multiples of it (yarn.scheduler.minimum-allocation-mb)."""
HEAP_SHARE = 0.8
"""Of a container; the rest is for the JVM itself."""
CONTAINERS = (
    ("mapreduce.map.memory.mb", "mapreduce.map.java.opts"),
    ("mapreduce.reduce.memory.mb", "mapreduce.reduce.java.opts"),
    ("yarn.app.mapreduce.am.resource.mb", "yarn.app.mapreduce.am.command-opts"),
)
"""Sizes of containers, and the options that have the heap."""
OF_ONE_HOST = ("address", "hdfs_dirs", "local_dirs", "directory", "topology_script", "node_principal")
"""Placeholders whose value differs from host to host."""
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
NODE_GROUP_PLACEMENT = "org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyWithNodeGroup"
PLACEMENT = "org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault"


def map_tasks(dataset_bytes: int, files: int, block_bytes: int) -> int:
    """TeraSort's: one for each block of the files that TeraGen wrote, all of one size. Paper 002, Table 1."""
    return files * math.ceil(dataset_bytes / files / block_bytes)


def container_mb(java_options: str) -> int:
    """What a container must have for the heap that its JVM may take. Raises EngineError where no -Xmx says it."""
    found = re.findall(r"-Xmx(\d+)([kKmMgG]?)(?!\S)", java_options)
    if not found:
        raise EngineError(f"Java options {java_options!r} do not say how large the heap may be; add -Xmx800m or so")
    number, unit = found[-1]  # as Java takes it
    heap_mb = int(number) * {"": 2**-20, "k": 2**-10, "m": 1, "g": 1024}[unit.lower()]
    return math.ceil(heap_mb / HEAP_SHARE / ALLOCATION_MB) * ALLOCATION_MB


def declared_hadoop(platform: Platform) -> Hadoop:
    """What the platform's file says of its Hadoop. Raises EngineError where it says nothing."""
    if platform.hadoop is None:
        raise EngineError(
            f"platform {platform.platform!r}: its engine is hadoop, but its file has no key 'hadoop' with 'slots', or "
            "with 'worker' (cpus, memory_gib, data_disks)"
        )
    return platform.hadoop


@dataclass(frozen=True)
class Secrets:
    """Of a Hadoop with Kerberos: what is neither in the platform's file nor on the hosts before set-up."""

    store_password: str = field(repr=False)
    """Of keystore and truststore."""
    http_secret: str = field(repr=False)
    """By which a web server signs who has logged in."""


@dataclass(frozen=True)
class Configuration:
    """The configuration of one platform. ``addresses``: host -> where it is reached; ``homes``: Hadoop's folder."""

    platform: Platform
    addresses: Mapping[str, str]
    directories: Mapping[str, str]
    """Host -> the folder that has configuration, logs and, where no data disks are named, data."""
    homes: Mapping[str, str]
    login: str = ""
    """The user of the daemons, whom HDFS and YARN obey."""
    principals: Mapping[str, str] = field(default_factory=dict)
    """Host -> that of its daemons, where Kerberos says who somebody is."""
    client_principal: str = ""
    """That by which jobs are submitted."""

    @property
    def services(self) -> KerberosServices | None:
        """What daemons log in with, where Kerberos says who somebody is."""
        return self.hadoop.kerberos.services if self.hadoop.kerberos else None

    @property
    def java_options(self) -> list[str]:
        """Of every daemon and of the client."""
        kerberos = self.hadoop.kerberos
        where = [f"-Djava.security.krb5.conf={kerberos.krb5_conf}"] if kerberos and kerberos.krb5_conf else []
        return [*split(self.hadoop.java_options), *where]

    @property
    def hadoop(self) -> Hadoop:
        return declared_hadoop(self.platform)

    @cached_property
    def namenode(self) -> str:
        """The host of the NameNode; the ResourceManager's, too, unless one has that role of its own."""
        return self._only("namenode")

    @cached_property
    def resourcemanager(self) -> str:
        return self._only("resourcemanager") if self.platform.hosts_with("resourcemanager") else self.namenode

    def _only(self, role: str) -> str:
        found = self.platform.hosts_with(role)
        if len(found) != 1:
            raise EngineError(
                f"platform {self.platform.platform!r}: exactly one host must have the role {role!r}, found {len(found)}"
            )
        return found[0]

    @cached_property
    def workers(self) -> list[str]:
        return self.platform.hosts_with("worker")

    @property
    def slots(self) -> int:
        return slots(self.hadoop)

    @property
    def cluster_slots(self) -> int:
        return self.slots * len(self.workers)

    @cached_property
    def has_node_groups(self) -> bool:
        """Whether workers share machines, so that replicas must be kept apart by machine."""
        machines = [self.machine_of(name) for name in self.workers]
        return len(set(machines)) < len(machines)

    def machine_of(self, host: str) -> str:
        return self.platform.hosts[host].machine or host

    def data_dirs(self, host: str) -> list[str]:
        """A folder on each data disk, or one beside the configuration."""
        return self.hadoop.data_dirs or [f"{self.directories[host]}/data"]

    def place_of(self, host: str) -> str:
        """Its network location: /rack, or /rack/machine."""
        rack = self.platform.hosts[host].rack or "rack"
        return f"/{rack}/{self.machine_of(host)}" if self.has_node_groups else f"/{rack}"

    # Rendering.

    def files(self, host: str, secrets: Secrets | None = None) -> dict[str, str]:
        """Every file of the host's configuration folder. ``secrets``: of one with Kerberos."""
        made = {site: _xml(settings) for site, settings in self.sites(host).items()}
        if self.services and secrets:
            values = self._values(host) | {"store_password": secrets.store_password}
            for file in TLS_FILES:
                made[file] = _xml(_filled(self._secure(file), values))
            made["http_secret"] = secrets.http_secret
        made["topology.sh"] = self.topology_script()
        made["log4j.properties"] = own_or_built_in(f"{TEMPLATES}/log4j.properties").read_text()
        return made

    def sites(self, host: str) -> dict[str, dict[str, str]]:
        """File -> setting -> value, for one host."""
        values = self._values(host)
        found = {site: _filled(self._template(site), values) for site in SITES}
        for name, value in self.platform.settings.items():
            found[site_of(name)][name] = value
        return found

    def declared(self) -> dict[str, str]:
        """Setting -> value of all that is the same on every host, to be read back from the daemons."""
        templates = [entry for site in SITES for entry in self._template(site)]
        own = {name for name, value in templates if _placeholders(value) & set(OF_ONE_HOST)}
        own -= set(self.platform.settings)  # what the platform says is the same everywhere
        settings = {name: value for site in self.sites(self.namenode).values() for name, value in site.items()}
        return {name: value for name, value in settings.items() if name not in own}

    def _secure(self, file: str) -> Sequence[tuple[str, str]]:
        return _read(own_or_built_in(f"{SECURE_TEMPLATES}/{file}")) if self.services else []

    def _template(self, site: str) -> Sequence[tuple[str, str]]:
        """Where two say a setting, the one with Kerberos is the later."""
        return [*_properties(site), *self._secure(site)]

    def setting(self, name: str) -> str:
        """A setting that is a plain value: the platform's own, or the template's."""
        declared = dict(_properties(site_of(name)))
        return self.platform.settings.get(name) or declared[name]

    @property
    def node_mb(self) -> int:
        """What the containers of a worker may take together."""
        map_mb, reduce_mb, am_mb = self._containers_mb()
        return self.slots * (map_mb + reduce_mb) + am_mb

    def _containers_mb(self) -> list[int]:
        """Of ``CONTAINERS``: as the platform sets them, or as their heaps need it."""
        own = self.platform.settings
        return [int(own[size]) if size in own else container_mb(self.setting(options)) for size, options in CONTAINERS]

    def _values(self, host: str) -> dict[str, object]:
        directory, disks = self.directories[host], self.data_dirs(host)
        map_mb, reduce_mb, am_mb = self._containers_mb()
        return {
            "directory": directory,
            "address": self.addresses[host],
            "namenode": self.addresses[self.namenode],
            "resourcemanager": self.addresses[self.resourcemanager],
            "hdfs_dirs": ",".join(f"file://{disk}/hdfs" for disk in disks),
            "local_dirs": ",".join(f"{disk}/local" for disk in disks),
            "topology_script": f"{directory}/conf/topology.sh",
            "topology_class": "org.apache.hadoop.net.NetworkTopology"
            + ("WithNodeGroup" if self.has_node_groups else ""),
            "node_groups": str(self.has_node_groups).lower(),
            "flat_topology": str(not self.has_node_groups).lower(),
            "placement_class": NODE_GROUP_PLACEMENT if self.has_node_groups else PLACEMENT,
            "classpath": classpath("$HADOOP_HOME"),  # each NodeManager knows its own
            "submit_replicas": min(10, len(self.workers)),
            "cluster_slots": self.cluster_slots,
            "map_mb": map_mb,
            "reduce_mb": reduce_mb,
            "am_mb": am_mb,
            "node_mb": self.node_mb,
            "node_vcores": 2 * self.slots + 1,
            "reduce_share": f"{reduce_mb / (map_mb + reduce_mb):.2f}",
            "login": self.login,
            **(self._of_services(host, self.services) if self.services else {}),
        }

    def _of_services(self, host: str, services: KerberosServices) -> dict[str, object]:
        """The ResourceManager knows NodeManagers by the principals that their addresses make."""
        of_any = f"{DAEMON_USER}/_HOST@{services.realm}"
        principal = of_any if host == self.resourcemanager else self.principals.get(host, of_any)
        store_type = "pkcs12" if services.keystore.endswith((".p12", ".pfx")) else "jks"
        rule = own_rule(self.client_principal, self.login)
        return {**services.model_dump(), "store_type": store_type, "node_principal": principal, "own_rule": rule}

    def topology_script(self) -> str:
        """Address -> place, for Hadoop to call."""
        body = script(
            "hadoop/topology",
            addresses=[self.addresses[host] for host in self.workers],
            places=[self.place_of(host) for host in self.workers],
            elsewhere="/elsewhere/elsewhere" if self.has_node_groups else "/elsewhere",
        )
        return "#!/bin/bash\n" + body


def own_rule(principal: str, user: str) -> str:
    """Of hadoop.security.auth_to_local: this principal, and no other, is that user."""
    parts = principal.partition("@")[0].split("/")
    whole = "/".join(f"${number}" for number in range(1, len(parts) + 1))
    return f"RULE:[{len(parts)}:{whole}@$0]({re.escape(principal)})s/.*/{user}/"


def site_of(setting: str) -> str:
    """The file that a setting is written to: the template that has it, else by its first words."""
    for site in SITES:
        if setting in dict(_properties(site)):
            return site
    return next((site for prefix, site in PREFIXES.items() if setting.startswith(prefix)), "core-site.xml")


def classpath(home: str) -> str:
    """Of the daemons and of the tasks: a folder of jars, or an unpacked distribution. Java leaves out what is not."""
    parts = [f"{home}/lib/*"]
    for part in ("common", "hdfs", "mapreduce", "yarn"):
        parts += [f"{home}/share/hadoop/{part}", f"{home}/share/hadoop/{part}/*", f"{home}/share/hadoop/{part}/lib/*"]
    return ",".join(parts)


def placeholders(setting: str) -> set[str]:
    """What of the platform's file the templates put into a setting; empty where it is a plain value, or in none."""
    return _placeholders(dict(_properties(site_of(setting))).get(setting, ""))


@cache
def of_security() -> frozenset[str]:
    """The settings that say who is let in and what is encrypted: all that a cluster with Kerberos has besides."""
    secure = {name for site in SITES for name, _ in _read(own_or_built_in(f"{SECURE_TEMPLATES}/{site}"))}
    return frozenset(secure.union(SECURITY))


def _placeholders(value: str) -> set[str]:
    return set(PLACEHOLDER.findall(value))


def _properties(site: str) -> Sequence[tuple[str, str]]:
    """(name, value with its placeholders) of a template, in its order."""
    return _read(own_or_built_in(f"{TEMPLATES}/{site}"))


def _filled(template: Iterable[tuple[str, str]], values: Mapping[str, object]) -> dict[str, str]:
    return {name: string.Template(value).substitute(values) for name, value in template}


@cache
def _read(path: Path) -> Sequence[tuple[str, str]]:
    root = ET.parse(path).getroot()  # noqa: S314  our own file
    return [(p.findtext("name") or "", p.findtext("value") or "") for p in root.iter("property")]


def _xml(settings: Mapping[str, str]) -> str:
    lines = [
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Written by clusterbench from include/hadoop. -->\n'
    return head + "\n".join(["<configuration>", *lines, "</configuration>", ""])
