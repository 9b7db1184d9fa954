"""Hadoop in the lab: its jars, once for all hosts. What runs of it is a platform's affair (``engines/hadoop.py``)."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab import maven
from clusterbench_lab.account import Account
from clusterbench_lab.layout import PROJECT_DIR, TEMPLATES_DIR, Layout

_SOURCES_DIR = PROJECT_DIR / "include" / "hadoop"
_FACTORY = TEMPLATES_DIR / "OwnAddressSocketFactory.java"


class HadoopJars:
    """Below the lab's folder; each host has a link to it in its work folder, where its platforms look for it."""

    name = "hadoop"

    def __init__(self, layout: Layout, account: Account) -> None:
        self.layout, self.account = layout, account
        self.home = layout.lab_dir / "hadoop"

    def up(self) -> str:
        """Fetch what is not there; returns what was done, in one or two words."""
        library_dir = self.home / "lib"
        fetched = maven.install(self.name, _SOURCES_DIR / "pom.xml", library_dir, _SOURCES_DIR / "jars.sha256")
        self.home.chmod(0o755)
        compiled = self._compile(library_dir)
        return "fetched" if fetched or compiled else "is there"

    def link(self, work_dir: Path) -> None:
        link = work_dir / "hadoop"
        if not link.is_symlink():
            link.symlink_to(self.home)

    def _compile(self, library_dir: Path) -> bool:
        """The one class that is the lab's own: each process speaks from the address of its host."""
        wanted = hashlib.sha256(_FACTORY.read_bytes()).hexdigest()
        classes, stamp = self.home / "classes", self.home / "classes" / "source.sha256"
        jar = library_dir / "clusterbench-lab.jar"
        if stamp.exists() and stamp.read_text() == wanted and jar.exists():
            return False
        if (javac := shutil.which("javac")) is None or (packer := shutil.which("jar")) is None:
            raise LabError("hadoop: no javac on PATH. Run `make setup`, which installs a JDK.")
        shutil.rmtree(classes, ignore_errors=True)
        (common,) = library_dir.glob("hadoop-common-*.jar")
        for command in (
            [javac, "--release", "8", "-Xlint:-options", "-cp", str(common), "-d", str(classes), str(_FACTORY)],
            [packer, "--create", "--file", str(jar), "-C", str(classes), "."],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise LabError(f"hadoop: {' '.join(command)} failed: {done.stderr.strip()}")
        jar.chmod(0o644)
        stamp.write_text(wanted)
        return True
