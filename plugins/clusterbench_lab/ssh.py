"""The hosts: each an sshd of its own, on an address of its own, with a key of its own."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab import processes
from clusterbench_lab.account import Account
from clusterbench_lab.cgroups import Limits
from clusterbench_lab.layout import Layout
from clusterbench_lab.processes import Record
from clusterbench_lab.server import RecordedServer, fingerprint, template

SSHD = "/usr/sbin/sshd"  # sshd starts itself anew for every session and insists on a full path


class SshHost(RecordedServer):
    kind = "sshd"

    def __init__(self, name: str, layout: Layout, account: Account) -> None:
        super().__init__(name, layout, account, layout.address(name))
        self.host_dir = layout.host_dir(name)
        self.limits = Limits(layout.lab_dir)

    @property
    def log_file(self) -> Path:
        return self.host_dir / "log" / "sshd.log"

    @property
    def work_dir(self) -> Path:
        return self.host_dir / "work"

    @property
    def home(self) -> Path:
        return self.account.home

    def prepare(self) -> str:
        for folder in ("", "ssh", "log", "work"):
            self.account.make_directory(self.host_dir / folder)
        make_key(self._host_key, self.account, comment=self.name)
        public_key = public_key_of(self.layout.client_key)
        self.account.write(self.host_dir / "ssh" / "authorized_keys", public_key + "\n")
        config = template(
            "sshd_config",
            {
                "name": self.name,
                "address": self.address,
                "listen": f"ListenAddress {self.address}:{self.port}",
                "host_dir": self.host_dir,
                "lab_dir": self.layout.lab_dir,
                "user": self.account.name,
                "home": self.home,
            },
        )
        self.account.write(self._config_file, config)
        return fingerprint(config)

    def claim(self) -> None:
        self.layout.claim_port(self.name, "ssh", self.address)

    def start(self, fingerprint: str) -> Record:
        if not Path(SSHD).exists():
            raise LabError(f"{self.name}: {SSHD} is missing. `make setup` installs openssh-server.")
        record = processes.spawn(
            [SSHD, "-D", "-e", "-f", str(self._config_file)],
            account=self.account,
            environment=self.account.environment(),
            log_file=self.log_file,
            cwd=self.host_dir,
            fingerprint=fingerprint,
        )
        self.limits.take(self.name, [record.pid])  # every session is a child of it
        return record

    def is_ready(self) -> bool:
        """An sshd greets first; who merely accepts the connection may be anybody."""
        try:
            with socket.create_connection((self.address, self.port), timeout=2.0) as connection:
                return connection.recv(8).startswith(b"SSH-2.0")
        except OSError:
            return False

    def host_key(self) -> str:
        """The public key in the form Airflow's SSH connection wants: type and key, no comment."""
        return " ".join(public_key_of(self._host_key).split()[:2])

    @property
    def _host_key(self) -> Path:
        return self.host_dir / "ssh" / "host_key"

    @property
    def _config_file(self) -> Path:
        return self.host_dir / "ssh" / "sshd_config"


def make_key(path: Path, account: Account, comment: str) -> None:
    if path.exists() and path.with_suffix(".pub").exists():
        return
    path.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    try:
        done = account.run(command)
    except FileNotFoundError as error:
        raise LabError("lab: ssh-keygen is missing. Run `make setup`, which installs openssh.") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{path}: ssh-keygen did not end.") from error
    if done.returncode != 0:
        raise LabError(f"{path}: ssh-keygen failed: {(done.stderr or done.stdout).strip()}")


def public_key_of(private_key: Path) -> str:
    return private_key.with_suffix(".pub").read_text().strip()
