"""What clusterbench needs root for on a platform's hosts, as a sudoers file. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from clusterbench.base.errors import ClusterbenchError
from clusterbench.hosts import profile, reboot
from clusterbench.spec.host_settings import Item, items
from clusterbench.spec.platform import Platform

TEE = "/usr/bin/tee"
DISKS = ("sd[a-z]", "sd[a-z][a-z]", "vd[a-z]", "nvme[0-9]n[0-9]", "nvme[0-9][0-9]n[0-9]", "dm-[0-9]", "dm-[0-9][0-9]")
"""Of a disk known by its mount point only: one character for each bracket, so that no pattern reaches further."""
NETWORK_CARDS = ("eno[0-9]", "ens[0-9]", "ens[0-9][0-9]", "ens[0-9][0-9][0-9]", "enp[0-9]s[0-9]", "enp[0-9][0-9]s[0-9]")
PORTS = ("", "f[0-9]", "np[0-9]", "f[0-9]np[0-9]")
"""What the kernel adds to the name of a card that has several: ens1f0np0."""
INTERFACES = ("eth[0-9]", "bond[0-9]", *(f"{card}{port}" for card in NETWORK_CARDS for port in PORTS))
LOGIN = re.compile(r"^[a-z_][A-Za-z0-9_.-]*\Z|^LOGIN\Z")
"""What begins with a capital letter is an alias to sudo; ``LOGIN`` stands in a template's file, to be filled in."""
SUDOERS_HEAD = """\
# What clusterbench needs root for on the hosts of platform {platform}, and nothing else. Put it into a file of
# /etc/sudoers.d on each of its hosts (visudo -c -f FILE checks it). `tee` writes what it is given to the named file.
"""
REMOUNTS = """\
# How a file system is mounted today only its host knows. To put it back at release, add for each mount point a line
# like those above with `remount,atime,diratime,dev,exec,suid,` and what `findmnt -no OPTIONS MOUNTPOINT` prints now,
# without those of the five whose opposite (noatime, …) it prints; or put 'keep: true' into the platform's file.
"""


def sudoers(platform: Platform, logins: Collection[str]) -> str:
    """A sudoers file that allows these logins what the platform's file lets clusterbench do, file by file.

    A name that means more than one login there (``%wheel``, ``ALL``) is refused.
    """
    if strange := [login for login in logins if not LOGIN.match(login)]:
        raise ClusterbenchError(
            f"login {strange[0]!r} of a host's connection: sudoers would read it as something else; allowed are "
            "letters, digits, '.', '_' and '-', beginning with a small letter or '_'; write the lines for it yourself"
        )
    commands = root_commands(platform)
    lines = [
        f"{login} ALL=(root) NOPASSWD: {_escaped(command)}\n" for login in sorted(set(logins)) for command in commands
    ]
    nothing = "# Nothing: 'may' of its file names nothing that needs root.\n"
    remounts = any(" -o remount" in line for line in lines)
    return SUDOERS_HEAD.format(platform=platform.platform) + ("".join(lines) or nothing) + REMOUNTS * remounts


def root_commands(platform: Platform) -> list[str]:
    """The commands that the platform's file lets clusterbench run as root."""
    commands = []
    if platform.page_cache == "drop_caches" and "drop_caches" in platform.may:
        commands += [f"{TEE} /proc/sys/vm/drop_caches"]
    if platform.service and {"restart", "recover", "engine_settings"} & set(platform.may):
        commands += [f"/usr/bin/systemctl {action} {platform.service}" for action in ("start", "stop")]
    if "host_settings" in platform.may:
        commands += [command for own in items(platform).values() for item in own for command in _as_root(item)]
    if "profile" in platform.may:
        commands += profile.ROOT_COMMANDS
    if "reboot" in platform.may:
        commands += reboot.ROOT_COMMANDS
    return list(dict.fromkeys(commands))


def _as_root(item: Item) -> list[str]:
    """The commands of ``include/hosts/settings.sh`` for one setting, also those that put it back."""
    name = item.name
    if item.kind in ("scheduler", "read_ahead_kib"):
        file = {"scheduler": "scheduler", "read_ahead_kib": "read_ahead_kb"}[item.kind]
        return [f"{TEE} /sys/block/{disk}/queue/{file}" for disk in (DISKS if name.startswith("/") else (name,))]
    if item.kind == "mount_options":
        return [f"/usr/bin/mount -o remount,{item.declared} {name}"]
    if item.kind == "service":
        started_by = ("/usr/bin/systemctl {action} {name}", "/usr/sbin/service {name} {action}")
        return [how.format(name=name, action=action) for how in started_by for action in ("start", "stop")]
    one = {
        "sysctl": f"/proc/sys/{name.replace('.', '/')}",
        "limit": "/etc/security/limits.d/90-clusterbench.conf",
        "transparent_huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    }.get(item.kind)
    if item.kind == "mtu":
        return [f"{TEE} /sys/class/net/{interface}/mtu" for interface in INTERFACES]
    return [f"{TEE} {one}"] if one else []


def _escaped(command: str) -> str:
    """sudoers(5): these mean something there unless they follow a backslash."""
    program, _, arguments = command.partition(" ")
    for special in (",", ":", "="):
        arguments = arguments.replace(special, f"\\{special}")
    return f"{program} {arguments}"
