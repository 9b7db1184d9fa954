"""A host that boots a systemd: as process 1 of its namespaces, in control groups of its own, from units of its own.

It is the machine's own program, with the machine's own units of those that a server needs: journal, bus, logins (so
that PAM makes a session of each) and sshd. Devices, ``/run``, ``/tmp`` and ``/var/lib/systemd`` are the host's own.
Its control groups are one in each hierarchy of the machine, which is all that it sees of them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path("/lib/systemd/systemd")
UNITS = PROGRAM.parent / "system"
NEEDED = {"systemd": PROGRAM, "dbus": UNITS / "dbus.service", "openssh-server": UNITS / "ssh.service"}
"""Package -> what is there with it."""
PAM = "*/security/pam_systemd.so"
GROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = {"name=systemd", "memory", "pids"}
END_S = 30
CHOSEN = (
    *(f"{name}.target" for name in ("basic", "sysinit", "local-fs", "slices", "paths", "sockets", "timers", "swap")),
    *(
        f"{name}.target"
        for name in ("multi-user", "network", "nss-user-lookup", "shutdown", "umount", "final", "reboot")
    ),
    "systemd-reboot.service",
    *("systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"),
    *("dbus.service", "dbus.socket", "systemd-logind.service", "dbus-org.freedesktop.login1.service"),
    *("systemd-user-sessions.service", "user@.service", "user-runtime-dir@.service", "user.slice", "user-.slice.d"),
    "ssh.service",
)
"""Of the machine's units. All others would set up the machine itself: its disks, devices, kernel and clock."""
WANTED = {
    "sockets.target": ("systemd-journald.socket", "systemd-journald-dev-log.socket", "dbus.socket"),
    "sysinit.target": ("systemd-journald.service",),
    "multi-user.target": ("dbus.service", "systemd-logind.service", "systemd-user-sessions.service", "ssh.service"),
}
"""What is started with what."""
LOGIND = "[Login]\nRemoveIPC=no\n"
"""As PostgreSQL's manual says for a server whose user logs in: else its shared memory goes with the last session."""

AGAIN = 'while setpriv --pdeathsig KILL "$@"; [ $? = 129 ]; do :; done'
"""A kernel ends the first process of a namespace that reboots by SIGHUP; a machine would boot again. What boots here
ends with this shell, and that with the tests."""
ENTER = 'for group in {groups}; do echo $$ >"$group/cgroup.procs"; done; exec "$@"'
"""What is started after it is in these groups, and a new namespace of groups begins at them."""
BOOT = """\
mount --bind {folder} /mnt
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p {folder}; mount --bind /mnt {folder}; umount /mnt
mount -t tmpfs -o mode=755 tmpfs {own}/dev
for node in null zero full random urandom tty; do touch {own}/dev/$node; mount --bind /dev/$node {own}/dev/$node; done
mkdir {own}/dev/pts {own}/dev/shm; ln -s /proc/self/fd {own}/dev/fd; ln -s pts/ptmx {own}/dev/ptmx
for name in stdin:0 stdout:1 stderr:2; do ln -s /proc/self/fd/${{name#*:}} {own}/dev/${{name%:*}}; done
mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts {own}/dev/pts
mount -t tmpfs -o mode=1777 tmpfs {own}/dev/shm
mount --rbind {own}/dev /dev
mount -t tmpfs -o mode=755 tmpfs /var/lib/systemd
mount --bind {own}/units {units}
mount --bind {own}/generators {units}-generators
mkdir /run/lock /run/user
mount -t sysfs -o ro sysfs /sys
{groups}
echo $$ >{own}/init.pid
exec env -i container=clusterbench PATH=/usr/sbin:/usr/bin:/sbin:/bin {program} --system
"""


@dataclass(frozen=True)
class Hierarchy:
    """One of control groups, as the machine has it mounted below ``GROUPS``, or there."""

    place: Path
    kind: str
    options: str

    def mount(self) -> str:
        """The command that mounts it in a namespace of groups, of which it then shows no more."""
        options = f"-o {self.options} " if self.options else ""
        return f"mount -t {self.kind} {options}cgroup {self.place}"


def hierarchies() -> list[Hierarchy]:
    """In which systemd names its units, and limits their memory and tasks. A host's share of the processors stays."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        place, (kind, _, words) = Path(before.split()[4]), after.split()
        options = [word for word in words.split(",") if word != "rw"]
        if kind == "cgroup2" or (kind == "cgroup" and CONTROLLERS.intersection(options)):
            named = ["none"] if any(word.startswith("name=") for word in options) else []
            found.append(Hierarchy(place, kind, ",".join(named + options) if kind == "cgroup" else ""))
    return found


def missing() -> str:
    """Why no host can boot a systemd here, or nothing."""
    absent = [package for package, path in NEEDED.items() if not path.exists()]
    if not any(Path("/usr/lib").glob(PAM)):
        absent.append("libpam-systemd")
    if absent:
        return f"a host boots a systemd, for which Debian's {', '.join(absent)} must be installed"
    if not any(each.kind == "cgroup2" or "name=systemd" in each.options for each in hierarchies()):
        return f"a host boots a systemd, for which control groups must be mounted below {GROUPS}"
    return "" if os.access(GROUPS, os.W_OK) else f"a host boots a systemd, for which {GROUPS} must be writable"


@contextmanager
def control_groups(name: str) -> Iterator[list[Path]]:
    """One of that name in each hierarchy; they go when the last process in them has ended."""
    made = [each.place / name for each in hierarchies()]
    try:
        for group in made:
            group.mkdir()
        yield made
    finally:
        for group in made:
            remove_group(group)


def remove_group(top: Path) -> None:
    """With all below it."""
    for group in [*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top]:
        _remove(group)


def _remove(group: Path) -> None:
    """A process that was killed is counted for a moment."""
    until = time.monotonic() + END_S
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def install(own: Path, configuration: Path) -> None:
    """The host's units in ``own``; and in its /etc what they read: ``configuration`` is that of sshd."""
    units, etc = own / "units", own / "etc"
    for folder in (units, own / "generators", own / "dev"):
        folder.mkdir()
    for name in CHOSEN:
        if (source := UNITS / name).is_dir():
            shutil.copytree(source, units / name)
        else:
            shutil.copy(source, units / name, follow_symlinks=False)
    (units / "default.target").symlink_to("multi-user.target")
    for target, wanted in WANTED.items():
        (units / f"{target}.wants").mkdir()
        for name in wanted:
            (units / f"{target}.wants" / name).symlink_to(f"../{name}")
    for folder in (etc / "systemd" / "system", etc / "systemd" / "logind.conf.d"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    (etc / "systemd" / "logind.conf.d" / "postgresql.conf").write_text(LOGIND)
    (etc / "fstab").write_text("")
    (etc / "default" / "ssh").write_text(f"SSHD_OPTS='-f {configuration}'\n")
    shutil.copy(configuration, etc / "ssh" / "sshd_config")  # which is looked at before


def boot(folder: Path, own: Path) -> str:
    """The commands that come after those of every host, and never end."""
    return BOOT.format(folder=folder, own=own, units=UNITS.resolve(), program=PROGRAM, groups="\n".join(_mounts()))


def _mounts() -> Iterator[str]:
    """Version 2 alone, or a folder of hierarchies that is then closed: systemd would mount others, for all to see."""
    found = hierarchies()
    if [each.place for each in found] == [GROUPS]:
        yield found[0].mount()
        return
    yield f"mount -t tmpfs -o mode=755 tmpfs {GROUPS}"
    for each in found:
        yield f"mkdir {each.place}; {each.mount()}"
    yield f"mount -o remount,ro {GROUPS}"
