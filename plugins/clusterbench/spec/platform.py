"""A platform: one deployment of one engine on named hosts, reached through connections kept elsewhere."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from clusterbench.base.errors import suggest
from clusterbench.spec.experiment import Name
from clusterbench.spec.leave import Leave
from clusterbench.spec.loading import Strict
from clusterbench.spec.machines import Machines
from clusterbench.spec.placement import DiskSize, Placement
from clusterbench.spec.project import dag_id
from clusterbench.spec.roles import DRIVERS, Role
from clusterbench.spec.setup import HostSettings, Service, Setting, Setup

ConnectionId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$")]
Folder = Annotated[str, Field(pattern=r"^/[A-Za-z0-9_./-]+$")]
COUNT_MAX = 10_000


def _network(text: Any) -> Any:
    """``10.20.0.0/16``. Its host bits are an address that somebody meant otherwise."""
    try:
        return str(ipaddress.ip_network(str(text)))
    except ValueError as error:
        raise ValueError(f"{error}; write a network, as 10.20.0.0/16") from None


DataNetwork = Annotated[str, BeforeValidator(_network)]


class Host(Strict):
    """A machine reached over SSH; ``ssh`` names an Airflow connection, which holds address, key and host key."""

    ssh: ConnectionId
    roles: Annotated[list[Role], Field(min_length=1)]
    machine: Name | None = None
    """The physical host, where it is a virtual machine that shares one with others."""
    rack: Name | None = None


class Hardware(Strict):
    """What each host of a kind claims to have; compared with what the hosts tell of themselves."""

    cpus: Annotated[int, Field(ge=1, le=10_000)]
    """Processors as the system counts them: vCPUs, or hardware threads."""
    memory_gb: Annotated[int, Field(ge=1, le=100_000)]
    data_disks: Annotated[int, Field(ge=0, le=1000)] | None = None
    data_disk_gb: DiskSize | None = None
    """Of each, for a plan; set-up looks at what is free."""


class Worker(Strict):
    """What each worker of a Hadoop cluster has, as Table 1 of paper 002; compared with what the hosts tell."""

    cpus: Annotated[int, Field(ge=1, le=10_000)]
    memory_gib: Annotated[float, Field(gt=0, le=100_000)]
    data_disks: Annotated[int, Field(ge=1, le=1000)]
    data_disk_gb: DiskSize | None = None
    """Of each, for a plan; every trial looks at what is free."""


class KerberosServices(Strict):
    """What the daemons of our own Hadoop log in with. The files are on every host, put there by who runs the KDC."""

    realm: Annotated[str, Field(min_length=1)]
    keytab: Folder
    """With ``hadoop/<address>@REALM`` and ``HTTP/<address>@REALM`` of that host."""
    keystore: Folder
    """Of the web servers, PKCS12 or JKS, with the host's certificate and key."""
    truststore: Folder
    """With the certificate of who has signed these."""


class Kerberos(Strict):
    """Who asks a Hadoop that wants to know."""

    connection: ConnectionId
    """Its login is the principal that benchmarks run as, its extra has the ``keytab``, in base64."""
    krb5_conf: Folder | Literal[""] = ""
    """On the hosts; empty: their own, /etc/krb5.conf."""
    services: KerberosServices | None = None


class OtherApplications(Strict):
    """What of other people's applications is noise, and what a reason to wait."""

    memory_share_max: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Of the memory of all workers, or of the queue where that has less. What takes more is waited for."""


class ManagedHadoop(Strict):
    """A Hadoop that somebody else runs: it is asked and given jobs, and nothing of it is set, started or stopped."""

    configuration: Folder = "/etc/hadoop/conf"
    """On the client host: the folder with core-site.xml and the others, as its owner hands it out to clients."""
    path: Folder
    """In HDFS: an empty folder of the login's own, or one that it may make. Trials have theirs below it."""
    queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")] | None = None
    """Of YARN, in which jobs are submitted; None: YARN's own choice."""
    others: OtherApplications = OtherApplications()


class Hadoop(Strict):
    """Where Hadoop is on every host, and how much of it runs at once on a worker."""

    home: Annotated[str, Field(min_length=1)] = "hadoop"
    """An unpacked distribution, or a folder whose ``lib`` has the jars; from the work folder, if not absolute."""
    data_dirs: list[Folder] = []
    """A folder on each data disk of a worker; empty: one below the work folder."""
    slots: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Map tasks, and as many reduce tasks, at once on a worker; else it follows from ``worker``."""
    worker: Worker | None = None
    daemon_heap_mb: Annotated[int, Field(ge=64, le=1_000_000)] = 1300
    java_options: str = ""
    """Of every daemon and of the client."""
    web_ca: Folder | None = None
    """On the client host: the certificates (PEM) by which web servers with TLS are believed; None: the host's own."""
    kerberos: Kerberos | None = None
    managed: ManagedHadoop | None = None
    """None: clusterbench configures, starts and stops it."""

    @model_validator(mode="after")
    def _services_are_our_own(self) -> Hadoop:
        services = self.kerberos.services if self.kerberos else None
        if self.managed and services:
            raise ValueError("kerberos.services: are of a Hadoop that clusterbench starts; this one is managed")
        if self.kerberos and not self.managed and not services:
            raise ValueError("kerberos.services: are missing: realm, keytab, keystore and truststore of its daemons")
        return self

    @model_validator(mode="after")
    def _slots_are_known(self) -> Hadoop:
        if self.slots is None and self.worker is None:
            raise ValueError("name 'worker' (cpus, memory_gib, data_disks), from which slots follow, or 'slots'")
        return self


def _many_alike(hosts: Any) -> Any:
    """``worker: {ssh: w, roles: [worker], count: 126}`` stands for worker1 to worker126 with ssh w1 to w126."""
    if not isinstance(hosts, dict):
        return hosts
    written: dict[str, Any] = {}
    for name, host in hosts.items():
        made = _written_out(str(name), host) if isinstance(host, dict) and "count" in host else {name: host}
        if twice := [each for each in made if each in written]:
            raise ValueError(f"{twice[0]!r} stands twice: by itself, and as one of those that 'count' stands for")
        written |= made
    return written


Hosts = Annotated[dict[Name, Host], BeforeValidator(_many_alike), Field(min_length=1)]


class Neighbour(Strict):
    """Another database of the same engine, on hosts of its own that are on the same machines."""

    database: ConnectionId
    driver_database: ConnectionId | None = None
    hosts: Hosts


OF_MANY = ("segment", "worker")
FEW = 3
"""Of more hosts with one of these roles, each does so small a part that its telemetry may be missed."""


class IndependentAnswers(Strict):
    """A host on which DuckDB may answer the queries, too, where the data is too large for the worker."""

    host: Name
    memory_gb: Annotated[int, Field(ge=1, le=100_000)]
    """What DuckDB may take of its memory; the rest goes to the disk of its work folder."""


class HostSpeed(Strict):
    """How fast each host is by itself, measured in set-up: a query on many hosts is as fast as the slowest of them."""

    every_days: Annotated[float, Field(ge=0, le=365)] = 7
    """0: before every run."""
    seconds: Annotated[int, Field(ge=1, le=600)] = 3
    """Of the processors, of memory, and of the network in each of two or three rounds."""
    disk_mib: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Of a file that is written and read in a folder of the engine's data; 0: no disk is touched."""
    slower_percent: Annotated[float, Field(gt=0, lt=100)] = 10
    """A host that is slower by so much than its peers, or than it was, is named."""


class Patience(Strict):
    """How long an outage is waited out before what it stopped is given up. An outage is not a finding."""

    hosts_minutes: Annotated[float, Field(ge=0, le=10_000)] = 60
    database_minutes: Annotated[float, Field(ge=0, le=10_000)] = 60


class Platform(Strict):
    """One YAML file in ``include/platforms``."""

    platform: Name
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    notes: list[Annotated[str, Field(min_length=1)]] = []
    """What is set where nothing can be read back, as a hypervisor's settings, in words for the report."""
    engine: Name
    cluster: Name
    """Platforms that share hosts share a cluster, and so one pool slot and one lease: one run at a time."""
    may: list[Leave] = []
    """What clusterbench may do there beside looking; see ``leave.LEAVES``."""
    database: ConnectionId | None = None
    driver_database: ConnectionId | None = None
    """The connection whose login and certificates drivers use, where they are to have fewer rights than set-up."""
    service: Service | None = None
    """The unit of the service manager that the server belongs to, by which it is stopped and started on its hosts."""
    data_network: DataNetwork | None = None
    """The network that data goes through, where hosts are logged in to by another."""
    patience: Patience = Patience()
    """That for the archive is in the archive's own connection."""
    hosts: Hosts
    neighbours: dict[Name, Neighbour] = {}
    """Under the same load beside every trial, driven from the same client."""
    page_cache: Literal["drop_caches", "evict_files", "none"] = "drop_caches"
    """How the operating system's cache is emptied: for the whole host (root), for the engine's files, or not."""
    segments_per_host: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Primary segments that a cluster claims to have; compared with what it tells of itself."""
    mirrors_per_host: Annotated[int, Field(ge=0, le=1000)] | None = None
    segment_host: Hardware | None = None
    pooler_port: Annotated[int, Field(ge=1024, le=65535)] = 16432
    gpfdist_port: Annotated[int, Field(ge=1024, le=65000)] = 18080
    """The first of the ports of the file servers on the ETL host, one for each file."""
    host_speed: HostSpeed | None = None
    """None: hosts are not measured."""
    watch_sessions: bool = False
    """Look ten times a second at what the drivers' sessions wait for, by one more session."""
    load_dirs: list[Folder] = []
    """A folder on each data disk of the ETL host, for load files; empty: one below the work folder."""
    hadoop: Hadoop | None = None
    placement: Placement | None = None
    machines: Machines | None = None
    """None: its hosts are there, and nobody makes them. Else those with a ``machine`` are made, and take turns."""
    independent_answers: IndependentAnswers | None = None
    settings: dict[str, Setting] = {}
    """Engine settings that the platform claims to have; read back, and a difference stops the run."""
    setup: Setup = Setup()
    """What hosts are set to, and what of hosts and engine clusterbench may change."""
    experiments: list[Name] = []
    """Those that offer it, where it stands for a question of theirs; empty: every one of its engine."""
    stands_for: Name | None = None
    """The template of a paper's platform whose question it asks at a smaller size, as in the lab."""
    template: bool = False
    """True for a cluster whose hosts are still to be filled in: it is linted and planned, never run."""

    @field_validator("hosts")
    @classmethod
    def _has_a_client(cls, hosts: dict[str, Host]) -> dict[str, Host]:
        clients = [name for name, host in hosts.items() if "client" in host.roles]
        if len(clients) != 1:
            found = f"{len(clients)} ({', '.join(clients)})" if clients else "none"
            raise ValueError(f"exactly one host must have the role 'client', because one clock measures; found {found}")
        return hosts

    @model_validator(mode="after")
    def _host_of_answers_is_one(self) -> Platform:
        if self.independent_answers and (host := self.independent_answers.host) not in self.hosts:
            raise ValueError(f"independent_answers.host: no host is called {host!r}{suggest(host, list(self.hosts))}")
        return self

    @property
    def is_managed(self) -> bool:
        """Whether it is a Hadoop that somebody else configures, starts and stops."""
        return self.hadoop is not None and self.hadoop.managed is not None

    def is_for(self, experiment: str) -> bool:
        return not self.experiments or experiment in self.experiments

    @property
    def every_host(self) -> dict[str, Host]:
        """Those of its neighbours, too."""
        return self.hosts | {name: host for each in self.neighbours.values() for name, host in each.hosts.items()}

    @property
    def engine_hosts(self) -> list[str]:
        """Names of those that run an engine, of neighbours, too: all but the ones that only drive load."""
        return [name for name, host in self.every_host.items() if not set(host.roles) <= DRIVERS]

    def neighbour(self, name: str) -> Platform:
        """A neighbour as a platform of its own: the same client and ETL host, and nobody beside it."""
        drivers = {host: self.hosts[host] for host in self.hosts_with("client", "load", "etl")}
        drivers = {
            host: each.model_copy(update={"roles": [role for role in each.roles if role in DRIVERS]})
            for host, each in drivers.items()
        }
        one = self.neighbours[name]
        changes = {"platform": f"{self.platform}/{name}", "database": one.database, "hosts": drivers | one.hosts}
        return self.model_copy(update={**changes, "driver_database": one.driver_database, "neighbours": {}})

    def hosts_with(self, *roles: str) -> list[str]:
        """Names of the hosts that have any of ``roles``, in the order of the file."""
        return [name for name, host in self.hosts.items() if set(roles) & set(host.roles)]

    def host_settings(self) -> dict[str, list[HostSettings]]:
        """Host -> the groups of ``setup.hosts`` that are about it, in the order of the file."""
        return self.setup.declared({name: list(host.roles) for name, host in self.every_host.items()})

    @property
    def client(self) -> str:
        return self.hosts_with("client")[0]

    @property
    def without_hosts(self) -> str | None:
        """What cannot be had because only the database connection is known, for plan and report."""
        if self.is_managed and not self.hosts_with("worker"):
            return "no worker's host is named: no telemetry of the workers, and their page cache stays as it is"
        if self.database_hosts or not self.database:
            return None
        return (
            "no coordinator or segment host is named: no telemetry of the database's hosts, no cold caches, no pooler, "
            "no check of free space"
        )

    @property
    def telling_hosts(self) -> list[str]:
        """Those without whose telemetry a number cannot be defended: all but one of many that do the same work."""
        many = {role for role in OF_MANY if len(self.hosts_with(role)) > FEW}
        return [name for name, host in self.hosts.items() if not set(host.roles) <= many]

    @property
    def database_hosts(self) -> list[str]:
        return self.hosts_with("coordinator", "segment")


def _written_out(name: str, host: dict[str, Any]) -> dict[str, Any]:
    """``count`` hosts, spread over ``machines`` in turn, of which ``machines_per_rack`` share a rack."""
    numbers = {key: host[key] for key in ("count", "machines", "machines_per_rack") if key in host}
    for key, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= COUNT_MAX:
            raise ValueError(f"{name}.{key}: must be a whole number from 1 to {COUNT_MAX}, found {number!r}")
    if "machines_per_rack" in numbers and "machines" not in numbers:
        raise ValueError(
            f"{name}.machines_per_rack: has no effect without 'machines', the number of physical hosts; add it, or "
            "remove this key"
        )
    if "machines" in numbers and (fixed := [key for key in ("machine", "rack") if key in host]):
        raise ValueError(f"{name}.{fixed[0]}: follows from 'machines'; leave one of the two out")
    rest = {key: value for key, value in host.items() if key not in numbers}
    if not isinstance(rest.get("ssh"), str):
        raise ValueError(f"{name}.ssh: is missing; write the beginning of the connections' names, without the number")
    Host.model_validate({**rest, "ssh": f"{rest['ssh']}1"})  # so that a mistake is told once, not for each of them
    made = {}
    for number in range(1, numbers["count"] + 1):
        place: dict[str, str] = {}
        if "machines" in numbers:
            machine = (number - 1) % numbers["machines"] + 1
            place["machine"] = f"machine{machine}"
            if "machines_per_rack" in numbers:
                place["rack"] = f"rack{(machine - 1) // numbers['machines_per_rack'] + 1}"
        made[f"{name}{number}"] = {**rest, **place, "ssh": f"{rest.get('ssh', '')}{number}"}
    return made


def pool_of(platform: Platform) -> str:
    """Airflow's pool of a platform's cluster: one slot, deferred tasks included. ``clusterbench pools`` makes it."""
    return dag_id(f"cluster_{platform.cluster}")
