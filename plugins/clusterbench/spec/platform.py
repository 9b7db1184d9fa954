"""A platform: one deployment of one engine on named hosts, reached through connections kept elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from clusterbench.spec.experiment import Name
from clusterbench.spec.loading import Strict

ConnectionId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$")]
Role = Literal["client", "etl", "coordinator", "segment", "namenode", "worker"]
Setting = Annotated[str, Field(pattern=r"^[^\x00-\x1f]{1,200}$")]


class Host(Strict):
    """A machine reached over SSH; ``ssh`` names an Airflow connection, which holds address, key and host key."""

    ssh: ConnectionId
    roles: Annotated[list[Role], Field(min_length=1)]


class Hardware(Strict):
    """What each host of a kind claims to have; compared with what the hosts tell of themselves."""

    cpus: Annotated[int, Field(ge=1, le=10_000)]
    """Processors as the system counts them: vCPUs, or hardware threads."""
    memory_gb: Annotated[int, Field(ge=1, le=100_000)]
    data_disks: Annotated[int, Field(ge=0, le=1000)] | None = None


class Platform(Strict):
    """One YAML file in ``include/platforms``."""

    platform: Name
    title: Annotated[str, Field(min_length=1)]
    description: str = ""
    engine: Name
    cluster: Name
    """Platforms that share hosts share a cluster, and so one pool slot and one lease: one run at a time."""
    database: ConnectionId | None = None
    hosts: Annotated[dict[Name, Host], Field(min_length=1)]
    page_cache: Literal["drop_caches", "evict_files", "none"] = "drop_caches"
    """How the operating system's cache is emptied: for the whole host (root), for the engine's files, or not."""
    segments_per_host: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Primary segments that a cluster claims to have; compared with what it tells of itself."""
    mirrors_per_host: Annotated[int, Field(ge=0, le=1000)] | None = None
    segment_host: Hardware | None = None
    pooler_port: Annotated[int, Field(ge=1024, le=65535)] = 16432
    gpfdist_port: Annotated[int, Field(ge=1024, le=65000)] = 18080
    """The first of the ports of the file servers on the ETL host, one for each file."""
    settings: dict[str, Setting] = {}
    """Engine settings that the platform claims to have; read back, and a difference stops the run."""
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

    def hosts_with(self, *roles: str) -> list[str]:
        """Names of the hosts that have any of ``roles``, in the order of the file."""
        return [name for name, host in self.hosts.items() if set(roles) & set(host.roles)]

    @property
    def client(self) -> str:
        return self.hosts_with("client")[0]

    @property
    def without_hosts(self) -> str | None:
        """What cannot be had because only the database connection is known, for plan and report."""
        if self.database_hosts:
            return None
        return (
            "no coordinator or segment host is named: no telemetry of the database's hosts, no cold caches, no pooler, "
            "no check of free space"
        )

    @property
    def database_hosts(self) -> list[str]:
        return self.hosts_with("coordinator", "segment")
