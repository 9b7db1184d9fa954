"""Settings of hosts, as a platform's file declares them: what there is of each kind, and what differs. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from clusterbench.spec.platform import Platform
from clusterbench.spec.setup import HostSettings

SIZE = re.compile(r"^(?P<name>\w+)=(?P<number>\d+)(?P<unit>[kmgt])$")
NO_NAME = "-"
"""Of a kind that a host has one of."""
ONLY_READ = {
    "mount_type": "stops a run: only mkfs can change it; make the file system again",
    "xfs_agcount": "stops a run: only mkfs.xfs -d agcount sets it; make the file system again",
    "clock_synchronised": "install chrony, and declare it in 'services' as running",
    "program": "install it there, where the login's PATH leads",
    "clock_offset_ms": "see that the hosts' clocks follow the same servers",
}
"""Kinds that cannot be applied, and what a person can do."""


@dataclass(frozen=True)
class Item:
    """One declared setting of a host."""

    kind: str
    name: str
    declared: str

    @property
    def setting(self) -> str:
        """How people call it: that of sysctl by its name alone, any other by kind and name."""
        if self.kind == "sysctl":
            return self.name
        return self.kind if self.name == NO_NAME else f"{self.kind} {self.name}"

    def holds(self, found: str) -> bool:
        """Whether what was found is as declared; of mount options there may be more than the declared ones."""
        if self.kind == "mount_options":
            return {_plain(one) for one in self.declared.split(",")} <= {_plain(one) for one in found.split(",")}
        return found == self.declared

    @property
    def call(self) -> str:
        """The kind and name as words of a shell."""
        return f"{quote(self.kind)} {quote(self.name)}"


def _plain(option: str) -> str:
    """A mount option with its size in bytes: 16m is told as 16384k."""
    found = SIZE.match(option)
    return f"{found['name']}={int(found['number']) * 1024 ** ' kmgt'.index(found['unit'])}" if found else option


def items(platform: Platform) -> dict[str, list[Item]]:
    """Host -> what its file declares for it; the last of several groups of settings wins. Pure."""
    return {
        host: list({(item.kind, item.name): item for group in groups for item in _items(group)}.values())
        for host, groups in platform.host_settings().items()
        if groups
    }


def _items(group: HostSettings) -> list[Item]:
    found = [Item("sysctl", name, " ".join(str(value).split())) for name, value in group.sysctl.items()]
    found += [Item("limit", name, str(value)) for name, value in group.limits.items()]
    found += [Item("service", name, value) for name, value in group.services.items()]
    for name, disk in group.disks.items():
        found += _given(name, {"scheduler": disk.scheduler, "read_ahead_kib": disk.read_ahead_kib})
    for name, mount in group.mounts.items():
        options = ",".join(mount.options) or None
        kinds = {"mount_type": mount.type, "mount_options": options, "xfs_agcount": mount.xfs_agcount}
        found += _given(name, kinds)
    synchronised = None if group.clock_synchronised is None else ("yes" if group.clock_synchronised else "no")
    return found + _given(
        NO_NAME,
        {
            "transparent_huge_pages": group.transparent_huge_pages,
            "mtu": group.mtu,
            "clock_synchronised": synchronised,
        },
    )


def _given(name: str, kinds: Mapping[str, Any]) -> list[Item]:
    return [Item(kind, name, str(value)) for kind, value in kinds.items() if value is not None]


def differing(declared: Mapping[str, Sequence[Item]], found: Mapping[str, Mapping[str, str]]) -> dict[str, list[Item]]:
    """Host -> the items that are not as declared."""
    wrong = {
        host: [item for item in wanted if not item.holds(found.get(host, {}).get(item.setting, ""))]
        for host, wanted in declared.items()
    }
    return {host: wanted for host, wanted in wrong.items() if wanted}


def accepted_reason(platform: Platform, host: str, setting: str) -> str:
    """Why the platform's file accepts a deviation of this setting there; empty where it does not."""
    accepted = platform.setup.accepted
    return accepted.get(f"{host}: {setting}") or accepted.get(setting) or ""
