"""Java programs of the lab: fetched by Maven as a pom.xml says, once, and whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import threading
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab.server import tail

STAMP = "pom.sha256"
"""Written last into a folder of jars."""
_LIMIT_SECONDS = 600
_ONE_AT_A_TIME = threading.Lock()
"""Two Mavens at once would write to the same local repository."""


def install(who: str, pom: Path, library_dir: Path, checksums: Path | None = None) -> bool:
    """Fetch the jars of ``pom`` into ``library_dir``; the stamp, written last, tells a whole set from a part.

    ``checksums``: lines as sha256sum writes them, of every jar. Returns whether anything had to be fetched.
    """
    locked = checksums.read_bytes() if checksums else b""
    wanted = hashlib.sha256(pom.read_bytes() + locked).hexdigest()
    stamp = library_dir / STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    shutil.rmtree(library_dir, ignore_errors=True)
    with _ONE_AT_A_TIME:
        _run(who, pom, library_dir)
    if checksums is not None:
        _verify(who, library_dir, checksums)
    library_dir.chmod(0o755)
    for jar in library_dir.iterdir():
        jar.chmod(0o644)
    stamp.write_text(wanted)
    return True


def _verify(who: str, library_dir: Path, checksums: Path) -> None:
    """Raises LabError for every jar that is not what was locked, is missing, or was not asked for."""
    listed = {name: digest for digest, name in (line.split() for line in checksums.read_text().splitlines())}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in library_dir.glob("*.jar")}
    wrong = sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name))
    if wrong:
        shutil.rmtree(library_dir)
        raise LabError(
            f"{who}: Maven brought other files than {checksums} lists: {', '.join(wrong[:5])}.\n"
            f"If the pom.xml next to it was changed on purpose, write the list anew: sha256sum *.jar"
        )


def _run(who: str, pom: Path, library_dir: Path) -> None:
    if (maven := shutil.which("mvn")) is None:
        raise LabError(f"{who}: no mvn on PATH. Run `make setup`, which installs Maven.")
    library_dir.parent.mkdir(parents=True, exist_ok=True)
    log = library_dir.parent / "maven.log"
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={library_dir}"]
    command = [maven, "-B", "-q", "-C", "-f", str(pom), "dependency:copy-dependencies", *options]
    with log.open("w") as output:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_LIMIT_SECONDS,
                check=False,
            )
            failed = done.returncode != 0
        except subprocess.TimeoutExpired:
            failed = True
    if failed:
        raise LabError(
            f"{who}: Maven could not fetch what {pom} names. Last lines of {log}:\n{tail(log, 12)}\n"
            f"It needs to reach a Maven repository once (settings.xml, proxy and certificates are Maven's "
            f"own); then run `clusterbench lab up` again."
        )
