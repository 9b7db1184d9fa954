"""What the tests look at: processes, listening sockets, secrets in files."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from clusterbench_lab import Lab


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


def processes_of(lab: Lab) -> set[int]:
    """Everything that works in the lab's folder or was started from it, by what /proc shows and no record."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid() or not alive(int(entry.name)):
            continue
        try:
            cwd = str((entry / "cwd").readlink())
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{cwd}/".startswith(f"{lab.lab_dir}/") or str(lab.lab_dir) in command + environment:
            found.add(int(entry.name))
    return found


def listening(pids: set[int]) -> set[str]:
    """Addresses these processes listen on, over TCP."""
    shown = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in shown.splitlines():
        owners = {int(pid) for pid in re.findall(r"pid=(\d+)", line)}
        if owners & pids:
            found.add(line.split()[3].rpartition(":")[0])
    return found


def secrets_of(lab: Lab) -> dict[str, str]:
    found = asdict(lab.parts.credentials)
    key = lab.layout.client_key.read_text().splitlines()
    found["client key"] = key[2]
    return found


def files_with_secrets(lab: Lab) -> dict[Path, list[str]]:
    """Which file of the lab holds which secrets; the databases' own files hold hashes, and are left out."""
    secrets = {name: value.encode() for name, value in secrets_of(lab).items()}
    found: dict[Path, list[str]] = {}
    for path in lab.lab_dir.rglob("*"):
        if not path.is_file() or "pgdata" in path.parts or path.suffix == ".jar":
            continue
        content = path.read_bytes()
        names = [name for name, value in secrets.items() if value in content]
        if names:
            found[path] = names
    return found


def command_lines() -> Iterator[tuple[Path, str]]:
    """Of every process of this machine, also those that are not ours."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path, path.read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has ended


def connections(lab: Lab) -> dict[str, dict]:
    return json.loads(lab.layout.connections_file.read_text())
