"""Hosts whose settings may be changed: each an sshd in network, IPC and mount namespaces of its own. They need root."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterbench.base.connections import Connection
from clusterbench.hosts.address import Address

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="a network that can be cut needs a namespace, which needs root"
)
PORT = 2290
INSIDE = """\
set -e
ip address add {address}/30 dev {inner}; ip link set {inner} up; ip link set lo up
mount -t tmpfs tmpfs /etc/security/limits.d
mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d
mkdir -p {folder}/data1
{mount}
exec /usr/sbin/sshd -D -e -f {folder}/sshd_config
"""
MOUNT = """\
truncate -s 350M {folder}/disk; mkfs.xfs -q -d agcount=2 {folder}/disk
mount -o loop {folder}/disk {folder}/data1
"""
CONFIG = """\
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
PidFile {folder}/sshd.pid
PermitRootLogin yes
UsePAM yes
StrictModes no
MaxStartups 100
"""


@dataclass(frozen=True)
class NamespaceHost:
    """``run`` sees what a login sees, but for limits."""

    name: str
    folder: Path
    address: str
    host_key: str
    link: str

    def connection(self, login: str = "root") -> Connection:
        extra = {
            "key_file": str(self.folder / "client_key"),
            "host_key": self.host_key,
            "work_dir": str(self.folder / f"work_{login}"),
        }
        return Connection(self.name, self.address, PORT, login, "", "", extra)

    def address_of(self, login: str = "root") -> Address:
        return Address.of(self.name, self.connection(login), {}.__getitem__)

    def run(self, command: str) -> str:
        pid = (self.folder / "sshd.pid").read_text().strip()
        inside = ["nsenter", "--target", pid, "--net", "--ipc", "--mount", "bash", "-c", command]
        return subprocess.run(inside, capture_output=True, text=True, check=True).stdout.strip()

    def cut_off(self) -> None:
        """As a pulled cable: what is sent to it is lost, and nobody is told."""
        self.run(f"ip link set {self.link} down")

    def connect(self) -> None:
        self.run(f"ip link set {self.link} up")


@contextmanager
def namespace_hosts(count: int, *, disks: bool = False) -> Iterator[list[NamespaceHost]]:
    """Up on entry, gone on exit, with all that was mounted in them. Not in pytest's folder, which lets only root in."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clusterbench-hosts-")))
        folder.chmod(0o755)
        yield [stack.enter_context(_host(folder / f"host{n}", n, disks=disks)) for n in range(count)]


@contextmanager
def _host(folder: Path, number: int, *, disks: bool) -> Iterator[NamespaceHost]:
    folder.mkdir()
    namespace, outer, inner = f"cb{os.getpid()}n{number}", f"cbo{os.getpid() % 100000}n{number}", f"cbi{number}"
    network = f"10.213.{os.getpid() % 200}.{number * 4}"
    prefix, last = network.rsplit(".", 1)
    here, there = f"{prefix}.{int(last) + 1}", f"{prefix}.{int(last) + 2}"
    for key in ("host_key", "client_key"):
        _do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key))
    (folder / "sshd_config").write_text(CONFIG.format(address=there, port=PORT, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    _do("ip", "netns", "add", namespace)
    sshd = None
    try:
        _do("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", namespace)
        _do("ip", "address", "add", f"{here}/30", "dev", outer)
        _do("ip", "link", "set", outer, "up")
        mount = MOUNT.format(folder=folder) if disks else ""
        script = INSIDE.format(address=there, inner=inner, folder=folder, mount=mount)
        unshared = ["unshare", "--ipc", "--mount", "--propagation", "private", "bash", "-c", script]
        with (folder / "log").open("w") as log:
            sshd = subprocess.Popen(["ip", "netns", "exec", namespace, *unshared], stderr=log, stdout=log)
        _wait_for(folder, sshd)
        key = " ".join((folder / "host_key.pub").read_text().split()[:2])
        yield NamespaceHost(f"host{number}", folder, there, key, inner)
    finally:
        if sshd is not None:
            for pid in subprocess.run(
                ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
            ).stdout.split():
                subprocess.run(["kill", "-KILL", pid], check=False)
            sshd.wait(timeout=20)
        _do("ip", "netns", "delete", namespace)


def _wait_for(folder: Path, sshd: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while not (folder / "sshd.pid").exists():
        assert sshd.poll() is None and time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.05)


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
