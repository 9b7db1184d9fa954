"""The hosts of the field: each an sshd with an ``/etc``, a name, mounts and shared memory of its own.

Sessions are logged in by PAM and speak German. One user, ``bench``, has one home on all hosts, as on NFS.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.field import systemd
from tests.field.network import Network, do

USER, LANGUAGE = "bench", "de_DE.UTF-8"
BEHIND_S = 3
PORT, STRICT_PORT = 22, 2222
"""The second sshd of the bastion forwards nothing."""
FAKETIME = "libfaketime.so.1"
READY_S = 60

INSIDE = """\
set -e
hostname {name}
mount -t tmpfs -o mode=755 tmpfs /run; mkdir /run/sshd
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount --bind {own}/etc /etc
mount -t tmpfs -o mode=750 tmpfs /etc/sudoers.d
cp {own}/sudoers /etc/sudoers.d/clusterbench; chmod 440 /etc/sudoers.d/clusterbench
mount -t tmpfs -o mode=755 tmpfs /etc/security/limits.d
mount --bind {folder}/locale /usr/lib/locale
"""
SSHD_ALONE = """\
mount --rbind /sys/fs/cgroup {own}/cgroup
mount -t sysfs sysfs /sys
mount --rbind {own}/cgroup /sys/fs/cgroup
for config in {configs}; do env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/sshd -D -e -f $config & done
echo $$ >{own}/init.pid
wait
"""
CONFIG = """\
ListenAddress {address}:{port}
HostKey {own}/host_key
AuthorizedKeysFile .ssh/authorized_keys
PidFile {own}/sshd.{port}.pid
UsePAM yes
PasswordAuthentication yes
PermitRootLogin no
StrictModes no
UseDNS no
AllowTcpForwarding {forwarding}
"""


@dataclass(frozen=True)
class Account:
    """The ordinary user of all hosts, who is none of this machine."""

    user_id: int
    home: Path
    password: str = field(repr=False)
    public_key: str


@dataclass(frozen=True)
class Host:
    """``run`` is done as root and without a login, so in English and with the true clock."""

    name: str
    own: Path
    host_key: str
    parent: int
    """Of the first process in its namespaces; with it, and so with the tests, all of them end."""
    boots_again: bool = False
    """The first process is then a grandchild, a new one after each boot."""

    def run(self, command: str, *, user: str = "root") -> str:
        pid = _child(_child(self.parent) if self.boots_again else self.parent)
        inside = ["nsenter", "--target", str(pid), "--net", "--ipc", "--uts", "--mount", "--pid", "--cgroup", "--wd=/"]
        switch = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return do(*inside, *switch, "bash", "-c", command).strip()


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


def make_locales(folder: Path) -> None:
    """The machine's own, and the German one, made once; a host mounts the folder in place of the machine's."""
    shutil.copytree("/usr/lib/locale", folder, symlinks=True)
    made = ["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", str(folder / LANGUAGE)]
    do(*made)


def make_home(home: Path, user_id: int, public_key: str) -> None:
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "authorized_keys").write_text(public_key)
    for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
        shutil.chown(path, user_id, user_id)
    home.chmod(0o700)


@contextmanager
def host(
    folder: Path,
    name: str,
    wires: Network,
    account: Account,
    names: Mapping[str, str],
    *,
    sudoers: str = "",
    address: str = "",
    clock_behind: bool = False,
    groups: Sequence[Path] = (),
) -> Iterator[Host]:
    """Logged in to at its management address, and at ``address``. ``names`` are those of its /etc/hosts.

    In control groups of its own it boots a systemd; else there is sshd alone. It ends with its network's namespace,
    whose processes are ended.
    """
    own = folder / name
    (own / "cgroup").mkdir(parents=True)
    _write_etc(own, name, account, names, clock_behind=clock_behind)
    (own / "sudoers").write_text(sudoers)
    do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(own / "host_key"))
    configs = _write_configs(own, [wires.management(name), *filter(None, [address])], is_bastion=bool(address))
    script = INSIDE.format(name=name, own=own, folder=folder)
    if groups:
        systemd.install(own, Path(configs[0]))
        script += systemd.boot(folder, own)
    else:
        script += SSHD_ALONE.format(own=own, configs=" ".join(configs))
    grouped = ["bash", "-c", systemd.ENTER.format(groups=" ".join(map(str, groups))), "bash"] if groups else []
    spaces = ["--uts", "--ipc", "--mount", "--pid", *(["--cgroup"] if groups else [])]
    unshared = ["unshare", *spaces, "--propagation", "private", "--kill-child", "--mount-proc"]
    entered = ["setpriv", "--pdeathsig", "KILL", *grouped, "nsenter", f"--net=/run/netns/{wires.namespace(name)}"]
    again = ["bash", "-c", systemd.AGAIN, "bash"] if groups else []
    with (own / "log").open("w") as log:
        command = [*entered, *again, *unshared, "bash", "-c", script]
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for(own, configs, started)
        key = " ".join((own / "host_key.pub").read_text().split()[:2])
        yield Host(name, own, key, started.pid, boots_again=bool(again))
    finally:
        started.kill()
        started.wait(timeout=READY_S)


def _write_etc(own: Path, name: str, account: Account, names: Mapping[str, str], *, clock_behind: bool) -> None:
    """The machine's, but for its users, its names, and what PAM puts into the environment of a session."""
    etc = own / "etc"
    do("cp", "-a", "/etc", str(etc))
    number = account.user_id
    hashed = do("openssl", "passwd", "-6", "-stdin", given=account.password).strip()
    with (etc / "passwd").open("a") as passwd, (etc / "group").open("a") as group:
        passwd.write(f"{USER}:x:{number}:{number}::{account.home}:/bin/bash\n")
        group.write(f"{USER}:x:{number}:\n")
    (etc / "shadow").write_text(f"root:*:19000:0:99999:7:::\n{USER}:{hashed}:19000:0:99999:7:::\n")
    (etc / "hostname").write_text(f"{name}\n")
    lines = ["127.0.0.1 localhost", *(f"{address} {known}" for known, address in names.items())]
    (etc / "hosts").write_text("\n".join(lines) + "\n")
    (etc / "default").mkdir(exist_ok=True)
    (etc / "default" / "locale").write_text(f"LANG={LANGUAGE}\n")
    (etc / "environment").write_text(_behind() if clock_behind else "")


def _behind() -> str:
    """Of every session, with whatever it starts. The monotonic clock is no clock of the day, and stays."""
    (library,) = Path("/usr/lib").glob(f"*/faketime/{FAKETIME}")
    words = {"LD_PRELOAD": library, "FAKETIME": f"-{BEHIND_S}s", "FAKETIME_DISABLE_SHM": 1}
    words |= {"DONT_FAKE_MONOTONIC": 1, "FAKETIME_DONT_FAKE_MONOTONIC": 1}
    return "".join(f"{name}={value}\n" for name, value in words.items())


def _write_configs(own: Path, addresses: list[str], *, is_bastion: bool) -> list[str]:
    """A configuration for each sshd of the host: one, or two on a bastion."""
    listening = f"{addresses[-1]}" if is_bastion else addresses[0]
    written = []
    for port, forwarding in ((PORT, "yes"), (STRICT_PORT, "no"))[: 2 if is_bastion else 1]:
        config = own / f"sshd_config.{port}"
        config.write_text(CONFIG.format(address=listening, port=port, own=own, forwarding=forwarding))
        written.append(str(config))
    return written


def _wait_for(own: Path, configs: list[str], started: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_S
    pids = [own / "init.pid", *(own / f"sshd.{config.rpartition('.')[2]}.pid" for config in configs)]
    while not all(pid.exists() and pid.read_text().strip() for pid in pids):
        assert started.poll() is None and time.monotonic() < until, (own / "log").read_text()
        time.sleep(0.05)
