"""Object storage: S3Proxy, a real S3 server over a folder, brought by Maven."""

from __future__ import annotations

import shutil
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab import maven, processes
from clusterbench_lab.account import Account
from clusterbench_lab.credentials import Credentials
from clusterbench_lab.layout import BUCKET, TEMPLATES_DIR, Layout
from clusterbench_lab.processes import Record
from clusterbench_lab.server import RecordedServer, fingerprint, template

# Small, and quick to start.
_JVM_OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]


class S3Server(RecordedServer):
    kind = "s3"

    def __init__(self, layout: Layout, account: Account, credentials: Credentials) -> None:
        super().__init__("s3", layout, account, layout.address("s3"))
        self.credentials = credentials
        self.program_dir = layout.lab_dir / "s3proxy"
        self.data_dir = layout.lab_dir / "s3"

    @property
    def log_file(self) -> Path:
        return self.program_dir / "s3proxy.log"

    @property
    def endpoint_url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def prepare(self) -> str:
        # A bucket is a folder.
        for folder in (self.data_dir, self.data_dir / BUCKET):
            self.account.make_directory(folder)
        install(self.account, self.program_dir)
        values = {
            "address": self.address,
            "port": self.port,
            "access_key": self.credentials.s3_access_key,
            "secret_key": self.credentials.s3_secret_key,
            "data_dir": self.data_dir,
        }
        settings = template("s3proxy.properties", values)
        logging = (TEMPLATES_DIR / "logback.xml").read_text()
        self.account.write(self._settings_file, settings)
        self.account.write(self._logging_file, logging)
        return fingerprint(settings, logging, *_JVM_OPTIONS)

    def claim(self) -> None:
        self.layout.claim_port(self.name, "s3", self.address)

    def start(self, fingerprint: str) -> Record:
        java = shutil.which("java")
        if java is None:
            raise LabError("s3: no java on PATH. Run `make setup`, which installs Java (17 or newer).")
        logging = f"-Dlogback.configurationFile={self._logging_file}"
        program = ["-cp", f"{self._library_dir}/*", "org.gaul.s3proxy.Main"]
        return processes.spawn(
            [java, *_JVM_OPTIONS, logging, *program, "--properties", str(self._settings_file)],
            account=self.account,
            environment=self.account.environment(),
            log_file=self.log_file,
            cwd=self.program_dir,
            fingerprint=fingerprint,
        )

    @property
    def _library_dir(self) -> Path:
        return self.program_dir / "lib"

    @property
    def _settings_file(self) -> Path:
        return self.program_dir / "s3proxy.properties"

    @property
    def _logging_file(self) -> Path:
        return self.program_dir / "logback.xml"


def install(account: Account, program_dir: Path) -> None:
    """Fetch S3Proxy into ``program_dir/lib``, if it is not there."""
    account.make_directory(program_dir)
    maven.install("s3", TEMPLATES_DIR / "pom.xml", program_dir / "lib")
