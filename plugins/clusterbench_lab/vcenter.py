"""A vCenter with four empty hosts, as a server of the lab: govmomi's simulator, which speaks vSphere's own API.

It keeps its inventory in memory alone. What its machines are beside that is ``guests.py``.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab import golang, processes
from clusterbench_lab.account import Account
from clusterbench_lab.credentials import Credentials
from clusterbench_lab.layout import TEMPLATES_DIR, Layout
from clusterbench_lab.processes import Record
from clusterbench_lab.server import RecordedServer, fingerprint

USER = "clusterbench"
HOSTS = 4
LOCKED = TEMPLATES_DIR / "vcsim.txt"


def install(program_dir: Path) -> bool:
    """Build the simulator, if it is not there."""
    return golang.install("vcenter", LOCKED, program_dir)


class VCenter(RecordedServer):
    kind = "vcsim"

    def __init__(self, layout: Layout, account: Account, credentials: Credentials) -> None:
        super().__init__("vcenter", layout, account, layout.address("vcenter"))
        self.folder = layout.lab_dir / "vcenter"
        self.program_dir = layout.lab_dir / "vcsim"
        self.password = credentials.vcenter_password

    @property
    def log_file(self) -> Path:
        return self.folder / "vcsim.log"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    def prepare(self) -> str:
        install(self.program_dir)
        self.account.make_directory(self.folder)
        self._certify()
        self.account.write(self._password_file, self.password + "\n")
        return fingerprint(LOCKED.read_text(), self.password, str(HOSTS))

    def claim(self) -> None:
        self.layout.claim_port(self.name, "vcenter", self.address)

    def start(self, fingerprint: str) -> Record:
        program = str(self.program_dir / "bin" / "vcsim")
        inventory = ["-cluster", "1", "-host", str(HOSTS), "-standalone-host", "0", "-vm", "1"]
        login = ["-username", USER, "-password", str(self._password_file)]
        quiet = ["-E", os.devnull]  # else it prints its address with the password in it, into its log
        tls = ["-tlscert", str(self.certificate), "-tlskey", str(self._key)]
        return processes.spawn(
            [program, "-l", f"{self.address}:{self.port}", *inventory, *login, *tls, *quiet],
            account=self.account,
            environment=self.account.environment(),
            log_file=self.log_file,
            cwd=self.folder,
            fingerprint=fingerprint,
        )

    @property
    def _key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def _password_file(self) -> Path:
        """The simulator reads a password from a file that has its name, and so it is on no command line."""
        return self.folder / "password"

    def _certify(self) -> None:
        """Its own certificate, which the connection pins."""
        if self.certificate.exists():
            return
        files = ["-keyout", str(self._key), "-out", str(self.certificate)]
        names = ["-subj", "/CN=vcenter", "-addext", f"subjectAltName=IP:{self.address}"]
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", *names, *files]
        try:
            done = self.account.run(command)
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise LabError(f"{self.name}: openssl could not make a certificate: {error}. Run `make setup`.") from None
        if done.returncode != 0:
            raise LabError(f"{self.name}: openssl could not make a certificate: {done.stderr.strip()}")
