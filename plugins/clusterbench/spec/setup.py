"""What a platform's hosts are set to before anything is measured: the appendices of the papers, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from clusterbench.spec.loading import Strict
from clusterbench.spec.roles import Role

Setting = Annotated[str, Field(pattern=r"^[^\x00-\x1f]{1,200}$")]
Count = Annotated[int, Field(ge=0, le=10**15)]
SysctlName = Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[A-Za-z0-9_-]+)+$")]
Limit = Literal["core", "data", "fsize", "memlock", "nofile", "nproc", "rss", "stack"]
DiskOrMount = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_.-]+)+$|^[a-z][a-z0-9-]{0,30}$")]
MountPoint = Annotated[str, Field(pattern=r"^/$|^(/[A-Za-z0-9_.-]+)+$")]
Service = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9@_.-]{0,99}$")]
NUMBERED = re.compile(r"^(?P<before>[^\[\]]*)\[(?P<first>[a-z]|\d+)-(?P<last>[a-z]|\d+)\](?P<after>[^\[\]]*)$")
"""``/data[1-16]`` or ``sd[b-q]``, as clush and pdsh write it."""
NUMBERED_MAX = 1000


class Disk(Strict):
    """The block device of that name, or the one below that mount point."""

    scheduler: Annotated[str, Field(pattern=r"^[a-z-]{1,30}$")] | None = None
    read_ahead_kib: Count | None = None
    """Papers print ``blockdev`` sectors of 512 bytes: 16384 of them are 8192 KiB."""


class Mount(Strict):
    """The file system that is mounted there."""

    type: Annotated[str, Field(pattern=r"^[a-z0-9]{1,20}$")] | None = None
    options: list[Annotated[str, Field(pattern=r"^[a-z0-9_]+(=[A-Za-z0-9_.:/-]+)?$")]] = []
    xfs_agcount: Count | None = None


class HostSettings(Strict):
    """Settings of the hosts with these roles; of all hosts where none is named."""

    roles: list[Role] = []
    sysctl: dict[SysctlName, Count | Setting] = {}
    limits: dict[Limit, Count | Literal["unlimited"]] = {}
    """Of a login's processes, soft and hard alike, as in limits.conf."""
    transparent_huge_pages: Literal["always", "madvise", "never"] | None = None
    disks: dict[DiskOrMount, Disk] = {}
    mounts: dict[MountPoint, Mount] = {}
    mtu: Annotated[int, Field(ge=576, le=65536)] | None = None
    """Of the interface by which the host is reached."""
    services: dict[Service, Literal["running", "stopped"]] = {}
    clock_synchronised: bool | None = None
    clock_offset_ms_max: Annotated[float, Field(gt=0)] | None = None

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
    """Whether what was applied stays when the cluster is released; else it is put back as it was found."""
    accepted: dict[Setting, Setting] = {}
    """Setting, or ``host: setting``, whose deviation does not stop a run -> the reason, which the report prints."""
    hosts: list[HostSettings] = []

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
