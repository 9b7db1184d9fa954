"""What a platform's hosts are set to before anything is measured: the appendices of the papers, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from clusterbench.spec.loading import Strict
from clusterbench.spec.roles import Role

Setting = Annotated[str, Field(pattern=r"^[^\x00-\x1f]{1,200}$", description="a text")]
Count = Annotated[int, Field(ge=0, le=10**15, description="a whole number")]
SysctlName = Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[A-Za-z0-9_-]+)+$", description="a setting")]
Limit = Literal["core", "data", "fsize", "memlock", "nofile", "nproc", "rss", "stack"]
DiskOrMount = Annotated[
    str, Field(pattern=r"^(/[A-Za-z0-9_.-]+)+$|^[a-z][a-z0-9-]{0,30}$", description="a disk or a mount point")
]
MountPoint = Annotated[str, Field(pattern=r"^/$|^(/[A-Za-z0-9_.-]+)+$", description="a mount point")]
Service = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9@_.-]{0,99}$", description="a service")]
NUMBERED = re.compile(r"^(?P<before>[^\[\]]*)\[(?P<first>[a-z]|\d+)-(?P<last>[a-z]|\d+)\](?P<after>[^\[\]]*)$")
"""``/data[1-16]`` or ``sd[b-q]``, as clush and pdsh write it."""
NUMBERED_MAX = 1000


class Disk(Strict):
    """The block device of that name, or the one below that mount point."""

    scheduler: Annotated[str, Field(pattern=r"^[a-z-]{1,30}$", description="a scheduler")] | None = None
    """The I/O scheduler, such as `mq-deadline`."""
    read_ahead_kib: Count | None = None
    """Read-ahead in KiB. Papers print sectors of 512 bytes: their 16384 are 8192 KiB."""


class Mount(Strict):
    """The file system that is mounted there."""

    type: Annotated[str, Field(pattern=r"^[a-z0-9]{1,20}$", description="a type such as `xfs`")] | None = None
    """The type of the file system. It is only compared, never changed."""
    options: list[Annotated[str, Field(pattern=r"^[a-z0-9_]+(=[A-Za-z0-9_.:/-]+)?$", description="an option")]] = []
    """Options that must be among those it is mounted with."""
    xfs_agcount: Count | None = None
    """The number of XFS allocation groups. It is only compared, never changed."""


class HostSettings(Strict):
    """Settings of the hosts with these roles; of all hosts where none is named."""

    roles: list[Role] = []
    """The hosts with one of these roles have these settings. Without it, all hosts have them."""
    sysctl: dict[SysctlName, Count | Setting] = {}
    """Kernel settings by name, as `sysctl` prints them."""
    limits: dict[Limit, Count | Literal["unlimited"]] = {}
    """Soft and hard limits of the login's processes, as in limits.conf. See docs/reference.md#limits."""
    transparent_huge_pages: Literal["always", "madvise", "never"] | None = None
    """The kernel's setting for transparent huge pages."""
    disks: dict[DiskOrMount, Disk] = {}
    """Settings of disks, by name (`sdb`) or by the mount point on them (`/data1`)."""
    mounts: dict[MountPoint, Mount] = {}
    """Settings of file systems, by mount point."""
    mtu: Annotated[int, Field(ge=576, le=65536)] | None = None
    """The MTU of the interface by which the host is reached."""
    services: dict[Service, Literal["running", "stopped"]] = {}
    """Whether services run, by name. They are switched through systemd, or through `service` if there is no systemd."""
    clock_synchronised: bool | None = None
    """`true`: chrony, ntpd or systemd must report that the clock is synchronised. It is only compared."""
    clock_offset_ms_max: Annotated[float, Field(gt=0)] | None = None
    """How many milliseconds the host's clock may differ from the worker's. It is only compared."""

    @field_validator("disks", "mounts", mode="before")
    @classmethod
    def _many_alike(cls, named: Any) -> Any:
        """``/data[1-16]`` stands for /data1 to /data16."""
        if not isinstance(named, dict):
            return named
        written: dict[str, Any] = {}
        for name, value in named.items():
            each = numbered(str(name))
            if twice := [one for one in each if one in written]:
                raise ValueError(f"{twice[0]!r} stands twice: by itself, and as one of those that [-] stands for")
            written |= dict.fromkeys(each, value)
        return written


class Setup(Strict):
    """What hosts are to be set to, and what becomes of it afterwards. Leave to set it is in the platform's ``may``."""

    keep: bool = False
    """`true`: settings stay when the cluster is released. `false`: they are put back as they were found."""
    accepted: Annotated[dict[Setting, Setting], Field(description="a mapping from a difference to a reason")] = {}
    """Differences that you accept, each with a reason. See docs/reference.md#accepted-differences."""
    hosts: list[HostSettings] = []
    """Groups of hosts with their settings. If two groups set the same for a host, the later one counts."""

    def declared(self, roles: Mapping[str, list[Role]]) -> dict[str, list[HostSettings]]:
        """Host -> what is declared for it; ``roles``: those of every host."""
        return {
            host: [group for group in self.hosts if not group.roles or set(group.roles) & set(own)]
            for host, own in roles.items()
        }


def numbered(name: str) -> list[str]:
    """``sd[b-d]`` -> sdb, sdc, sdd; a name without brackets stands for itself."""
    found = NUMBERED.match(name)
    if found is None and "[" in name:
        raise ValueError(f"{name!r}: write one range of numbers or letters, as in '/data[1-16]' or 'sd[b-q]'")
    if found is None:
        return [name]
    first, last = found["first"], found["last"]
    if first.isdigit() != last.isdigit():
        raise ValueError(f"{name!r}: a range goes from number to number or from letter to letter")
    numbers = range(int(first), int(last) + 1) if first.isdigit() else range(ord(first), ord(last) + 1)
    if not numbers:
        raise ValueError(f"{name!r}: the range is empty; write the smaller end first")
    if len(numbers) > NUMBERED_MAX:
        raise ValueError(f"{name!r}: the range stands for {len(numbers)} names; at most {NUMBERED_MAX} are allowed")
    width = len(first) if first.startswith("0") else 0
    each = (f"{number:0{width}d}" if first.isdigit() else chr(number) for number in numbers)
    return [f"{found['before']}{one}{found['after']}" for one in each]
