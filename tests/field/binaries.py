"""Other versions of PostgreSQL than the machine's, as Maven brings them: a jar with the programs of a server."""

from __future__ import annotations

import fcntl
import string
import tarfile
import zipfile
from pathlib import Path

from clusterbench_lab import maven
from clusterbench_lab.layout import PROJECT_DIR, TEMPLATES_DIR

POM, CHECKSUMS = TEMPLATES_DIR / "postgres.xml", TEMPLATES_DIR / "postgres.sha256"
KEPT = PROJECT_DIR / ".lab" / "postgres"
VERSIONS = ("14.18.0", "16.9.0", "17.5.0", "18.0.0")
"""Of which the checksums are pinned. A client is Debian's, whatever the server."""


def unpack(version: str, into: Path) -> Path:
    """Fetch that version once, and unpack it; returns the folder of its programs, ``into/bin``."""
    (jar,) = _fetched(version).glob("*.jar")
    with zipfile.ZipFile(jar) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".txz"))
        with opened.open(name) as packed, tarfile.open(fileobj=packed, mode="r:xz") as tar:
            tar.extractall(into, filter="tar")
    return into / "bin"


def _fetched(version: str) -> Path:
    """The folder of the jar. One at a time, whichever process asks: two Mavens would write to one place."""
    folder = KEPT / version
    folder.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pom, checksums = folder / "pom.xml", folder / "jars.sha256"
        pom.write_text(string.Template(POM.read_text()).substitute(version=version))
        pinned = [line for line in CHECKSUMS.read_text().splitlines() if line.endswith(f"-{version}.jar")]
        checksums.write_text("\n".join(pinned) + "\n")
        maven.install("postgres", pom, folder / "lib", checksums)
    return folder / "lib"
