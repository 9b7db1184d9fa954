"""What clusterbench may do to a cluster: leave by name, in a platform's file under ``may``. Without it, it only looks.

What it makes of its own needs none: tables in the database that the connection names, and files in its work folders.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Protocol

Leave = Literal[
    "restart",
    "recover",
    "full_copy",
    "drop_caches",
    "evict",
    "session_settings",
    "host_settings",
    "engine_settings",
    "measure_disks",
    "profile",
    "change_existing",
    "switch_machines",
    "reboot",
]
LEAVES: dict[Leave, str] = {
    "restart": "stop and start the engine's servers, for cold caches and for settings that are read at start",
    "recover": "start servers that are down, end what is left of them, and have mirrors catch up (gprecoverseg)",
    "full_copy": "copy a whole segment if it cannot catch up otherwise (gprecoverseg -F)",
    "drop_caches": "empty the page cache of whole hosts, as root",
    "evict": "remove from the page cache the pages of the engine's own files",
    "session_settings": "change the settings of the drivers' role in that database, and restore them",
    "host_settings": "set what 'setup.hosts' declares, as root, and restore the old values",
    "engine_settings": "write 'settings' into the servers' configuration files, and remove them again",
    "measure_disks": "write a file into the folders of the engine's data, and read it, to see how fast its disks are",
    "profile": "sample what the processors of its hosts run, of all programs there, as root (perf)",
    "change_existing": "run statements of a declared workload that change tables which clusterbench did not make",
    "switch_machines": "make the virtual machines of 'machines', start and shut them down, and those of other layouts",
    "reboot": "boot the machines of its workers and masters again, as root, before a trial that asks for it",
}
"""What each is for, in the words of reference and messages."""


class Named(Protocol):
    """A platform, as far as leave goes."""

    @property
    def platform(self) -> str: ...
    @property
    def may(self) -> Collection[Leave]: ...


def why_not(platform: Named, *wanted: Leave) -> str:
    """Why this may not be done there, with the line that would allow it; empty where all of it may."""
    missing = [each for each in wanted if each not in platform.may]
    if not missing:
        return ""
    file = platform.platform.partition("/")[0]
    allowed = ", ".join([*platform.may, *missing])
    return (
        f"the platform's file does not let clusterbench {'; or '.join(LEAVES[each] for each in missing)}; to allow it, "
        f"write 'may: [{allowed}]' into include/platforms/{file}.yaml"
    )
