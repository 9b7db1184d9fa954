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

ConnectionId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$", description="the name of a connection")]
Folder = Annotated[str, Field(pattern=r"^/[A-Za-z0-9_./-]+$", description="an absolute path")]
COUNT_MAX = 10_000


def _network(text: Any) -> Any:
    """``10.20.0.0/16``. Its host bits are an address that somebody meant otherwise."""
    try:
        return str(ipaddress.ip_network(str(text)))
    except ValueError as error:
        raise ValueError(f"{error}; write a network, as 10.20.0.0/16") from None


DataNetwork = Annotated[str, BeforeValidator(_network), Field(description="a network such as `10.20.0.0/16`")]


class Host(Strict):
    """A machine reached over SSH; ``ssh`` names an Airflow connection, which holds address, key and host key."""

    ssh: ConnectionId
    """The connection of type SSH by which the host is reached."""
    roles: Annotated[list[Role], Field(min_length=1)]
    """What the host does: see docs/reference.md#roles."""
    machine: Name | None = None
    """The physical machine that the host is on. Needed if several hosts are virtual machines of one machine."""
    rack: Name | None = None
    """The rack that the machine is in."""


class Hardware(Strict):
    """What each host of a kind claims to have; compared with what the hosts tell of themselves."""

    cpus: Annotated[int, Field(ge=1, le=10_000)]
    """Processors as the system counts them: vCPUs, or hardware threads."""
    memory_gb: Annotated[int, Field(ge=1, le=100_000)]
    """Memory in GB. A host with up to a tenth less passes: firmware and kernel keep a little."""
    data_disks: Annotated[int, Field(ge=0, le=1000)] | None = None
    """How many data disks the host has."""
    data_disk_gb: DiskSize | None = None
    """The size of each data disk in GB. Only `clusterbench plan` uses it: every run looks at the free space itself."""


class Worker(Strict):
    """What each worker of a Hadoop cluster has, as Table 1 of paper 002; compared with what the hosts tell."""

    cpus: Annotated[int, Field(ge=1, le=10_000)]
    """Processors as the system counts them: vCPUs, or hardware threads."""
    memory_gib: Annotated[float, Field(gt=0, le=100_000)]
    """Memory in GiB. A worker with up to a tenth less passes: firmware and kernel keep a little."""
    data_disks: Annotated[int, Field(ge=1, le=1000)]
    """How many data disks the worker has."""
    data_disk_gb: DiskSize | None = None
    """The size of each data disk in GB. Only `clusterbench plan` uses it: every trial looks at the free space
    itself."""


class KerberosServices(Strict):
    """What the daemons of our own Hadoop log in with. The files are on every host, put there by who runs the KDC."""

    realm: Annotated[str, Field(min_length=1)]
    """The realm of the daemons' principals."""
    keytab: Folder
    """On every host: the keytab with `hadoop/<address>@REALM` and `HTTP/<address>@REALM` of that host."""
    keystore: Folder
    """On every host: the keystore of the web servers, PKCS12 or JKS, with the host's certificate and key."""
    truststore: Folder
    """On every host: the truststore with the certificate of the authority that signed the keystores' certificates."""


class Kerberos(Strict):
    """Who asks a Hadoop that wants to know."""

    connection: ConnectionId
    """An Airflow connection. Its login is the principal of the benchmarks; its extra has the `keytab` in base64."""
    krb5_conf: Folder | Literal[""] = ""
    """The configuration file on the hosts. Without it, this is their own /etc/krb5.conf."""
    services: KerberosServices | None = None
    """What the daemons log in with. Required for a Hadoop that clusterbench starts, refused for a managed one."""


class OtherApplications(Strict):
    """What of other people's applications is noise, and what a reason to wait."""

    memory_share_max: Annotated[float, Field(ge=0, le=1)] = 0.02
    """The share of YARN's memory (of the queue's, if that is less) that other applications may have and still
    be noise."""


class ManagedHadoop(Strict):
    """A Hadoop that somebody else runs: it is asked and given jobs, and nothing of it is set, started or stopped."""

    configuration: Folder = "/etc/hadoop/conf"
    """On the client host: the folder with core-site.xml and the other files, as the cluster's owner hands it to
    clients."""
    path: Folder
    """An HDFS folder of the login's own. It is empty, or the login may create it."""
    queue: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", description="a queue's name")] | None = None
    """The YARN queue of the jobs, by name or path. Without it, YARN chooses."""
    others: OtherApplications = OtherApplications()
    """How much work of other people is noise, and when it is a reason to wait."""


class Hadoop(Strict):
    """Where Hadoop is on every host, and how much of it runs at once on a worker."""

    home: Annotated[str, Field(min_length=1)] = "hadoop"
    """Where Hadoop is on every host: an unpacked distribution, or a folder whose `lib` has the jars. A relative path
    begins at the `work_dir`."""
    data_dirs: list[Folder] = []
    """A folder on each data disk of a worker, for HDFS and for map output. Without it: one folder below the
    `work_dir`."""
    slots: Annotated[int, Field(ge=1, le=1000)] | None = None
    """How many map tasks, and as many reduce tasks, run at once on a worker. Without it, `worker` decides."""
    worker: Worker | None = None
    """The hardware that every worker claims to have. It is read back, and a difference stops the run."""
    daemon_heap_mb: Annotated[int, Field(ge=64, le=1_000_000)] = 1300
    """The heap of each daemon in MB."""
    java_options: str = ""
    """More options of the JVM of every daemon and of the client."""
    web_ca: Folder | None = None
    """On the client host: certificates (PEM) by which web servers with TLS are trusted. Without it, the host's own are
    used."""
    kerberos: Kerberos | None = None
    """The login to a Hadoop with Kerberos: see docs/hadoop.md#kerberos-and-tls."""
    managed: ManagedHadoop | None = None
    """A Hadoop that somebody else runs. Without it, clusterbench configures, starts and stops the Hadoop."""

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


ALIKE = {
    "count": "This entry stands for this many hosts, numbered from 1 (at most 10000).",
    "machines": "How many physical machines the hosts are dealt out to in turn. Replaces ``machine`` and ``rack``.",
    "machines_per_rack": "How many of these machines share a rack. Without it, no rack is declared.",
}
"""Keys of a host that stands for many, and what each is for."""


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
    """The Airflow connection of the neighbour's database, as `database` of the platform."""
    driver_database: ConnectionId | None = None
    """The second connection to that database, as `driver_database` of the platform."""
    hosts: Hosts
    """The hosts of the neighbour."""


OF_MANY = ("segment", "worker")
FEW = 3
"""Of more hosts with one of these roles, each does so small a part that its telemetry may be missed."""


class IndependentAnswers(Strict):
    """A host on which DuckDB may answer the queries, too, where the data is too large for the worker."""

    host: Name
    """The host of this platform on which DuckDB computes the answers."""
    memory_gb: Annotated[int, Field(ge=1, le=100_000)]
    """How much of the host's memory DuckDB may use, in GB. The rest goes to the disk of its `work_dir`."""


class HostSpeed(Strict):
    """How fast each host is by itself, measured in set-up: a query on many hosts is as fast as the slowest of them."""

    every_days: Annotated[float, Field(ge=0, le=365)] = 7
    """The hosts are measured at most once in this many days. 0 means before every run."""
    seconds: Annotated[int, Field(ge=1, le=600)] = 3
    """How long processors, memory, and each of the two or three rounds of the network are measured."""
    disk_mib: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """The size of a file that is written and read in a folder of the engine's data. 0 measures no disk."""
    slower_percent: Annotated[float, Field(gt=0, lt=100)] = 10
    """A host is reported if it is slower by this percentage than its peers, or than it was before."""


class Patience(Strict):
    """How long an outage is waited out before what it stopped is given up. An outage is not a finding."""

    hosts_minutes: Annotated[float, Field(ge=0, le=10_000)] = 60
    """How many minutes a run waits for hosts that do not answer."""
    database_minutes: Annotated[float, Field(ge=0, le=10_000)] = 60
    """How many minutes a run waits for a database that does not answer."""


class Platform(Strict):
    """One YAML file in ``include/platforms``."""

    platform: Name
    """The platform's name. Its file has the same name."""
    title: Annotated[str, Field(min_length=1)]
    """A short title for the form and the report."""
    description: str = ""
    """What the platform is, for the report."""
    notes: list[Annotated[str, Field(min_length=1)]] = []
    """Facts that nothing can read back, such as a hypervisor's settings. The report prints each sentence."""
    engine: Name
    """What runs there: `postgres`, `greenplum` (including its forks) or `hadoop`."""
    cluster: Name
    """Platforms that share hosts must have the same `cluster`. Then only one run at a time uses those hosts."""
    may: Annotated[list[Leave], Field(description="a list of words of docs/reference.md#leave-to-act")] = []
    """What clusterbench may change on the cluster."""
    database: ConnectionId | None = None
    """The Airflow connection of the database, with the login that sets up and checks."""
    driver_database: ConnectionId | None = None
    """A second connection to the same database, for drivers whose login has fewer rights: see
    docs/operate.md#3-connections."""
    service: Service | None = None
    """The service manager's unit of the server, such as `postgresql@16-main`. The server is stopped and started through
    it."""
    data_network: DataNetwork | None = None
    """The network for data: see docs/reference.md#data-network."""
    patience: Patience = Patience()
    """How long an outage is waited out before the trials that it stopped are given up: see docs/operate.md#outages."""
    hosts: Hosts
    """The hosts by name."""
    neighbours: dict[Name, Neighbour] = {}
    """Other databases on the same machines. They are under the same load while a trial is measured: see
    docs/placement.md#neighbours."""
    page_cache: Literal["drop_caches", "evict_files", "none"] = "drop_caches"
    """How the file system's cache is emptied: see docs/reference.md#page-cache."""
    segments_per_host: Annotated[int, Field(ge=1, le=1000)] | None = None
    """The primary segments that each Greenplum host claims to have. They are read back, and a difference stops
    the run."""
    mirrors_per_host: Annotated[int, Field(ge=0, le=1000)] | None = None
    """The mirrors that each Greenplum host claims to have. They are read back, and a difference stops the run."""
    segment_host: Hardware | None = None
    """The hardware that every segment host claims to have. It is read back, and a difference stops the run."""
    pooler_port: Annotated[int, Field(ge=1024, le=65535)] = 16432
    """The port of PgBouncer on the database's host. PgBouncer runs only while a trial needs it."""
    gpfdist_port: Annotated[int, Field(ge=1024, le=65000)] = 18080
    """The first port of Greenplum's file servers. See docs/reference.md#ports-of-the-file-servers."""
    host_speed: HostSpeed | None = None
    """Measures how fast each host is by itself: see docs/operate.md#slow-hosts. Without it, hosts are not measured."""
    watch_sessions: bool = False
    """`true`: one more session observes what the drivers' sessions wait for. See
    docs/archive.md#what-the-database-did."""
    load_dirs: list[Folder] = []
    """A folder on each data disk of the ETL host, for the files of `data_load`. Without it: one folder below the
    `work_dir`."""
    hadoop: Hadoop | None = None
    """Required for a Hadoop, and only for that."""
    placement: Placement | None = None
    """The physical machines that the hosts are on."""
    machines: Machines | None = None
    """Virtual machines that a run creates and switches itself, one for each host with a `machine`: see
    docs/machines.md."""
    independent_answers: IndependentAnswers | None = None
    """A host that computes the answers to TPC-DS's queries above scale factor 1. Without it, answers are compared with
    earlier runs only."""
    settings: Annotated[dict[str, Setting], Field(description="a mapping from a setting to its value")] = {}
    """Settings that the server claims to have, as the server prints them. A difference stops the run."""
    setup: Setup = Setup()
    """What the hosts must be set to."""
    experiments: list[Name] = []
    """The experiments whose form offers this platform. Without it, every experiment of its engine does."""
    stands_for: Name | None = None
    """The template whose question this platform asks at a smaller size, for docs/rehearsal.md."""
    template: bool = False
    """`true`: the hosts are still to be filled in. The file is checked and planned, and never run."""

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
    numbers = {key: host[key] for key in ALIKE if key in host}
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
