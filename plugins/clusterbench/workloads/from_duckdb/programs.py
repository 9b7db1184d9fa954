"""DuckDB's command line program and its generators, as files of the same release, and on the ETL host.

They come from packages, so nothing is fetched where they run; the host needs nothing of its own but a shell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError

if TYPE_CHECKING:
    from clusterbench.hosts.fleet import Fleet

PROGRAM = "duckdb"
GENERATORS = ("tpcds", "tpch")
"""Extensions that make rows. Each extension is of the package ``duckdb_extension_<name>``."""


def extension_name(extension: str) -> str:
    """Of the file."""
    return f"{extension}.duckdb_extension"


def extension_file(extension: str) -> Path:
    """What ``LOAD`` takes."""
    return _only(f"duckdb_extension_{extension}", f"extensions/*/{extension_name(extension)}")


def program_file() -> Path:
    """The command line program: one executable, which needs nothing else on a host."""
    return _only("duckdb_cli", PROGRAM)


def put(fleet: Fleet, host: str, extensions: Sequence[str]) -> str:
    """The folder of the program and of these extensions there, which are what this project pins.

    Raises DatasetError where the program does not run there.
    """
    path = f"{fleet.work_dir(host)}/duckdb"
    local = {PROGRAM: program_file(), **{extension_name(one): extension_file(one) for one in extensions}}
    content = {name: file.read_bytes() for name, file in local.items()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in content.items())
    look = f"cd {quote(path)} 2>/dev/null && sha256sum --check --status <<<{quote(sums.strip())}"
    if fleet.run_on(host, look, check=False).exit_status != 0:
        fleet.put(host, path, content)
        fleet.run_on(host, f"chmod u+x {quote(path)}/{PROGRAM}; {look}")
    ran = fleet.run_on(host, f"{quote(path)}/{PROGRAM} -version", check=False)
    if ran.exit_status != 0:
        raise DatasetError(
            f"host {host!r}: DuckDB's program, which makes the load files, does not run there: "
            f"{(ran.error or ran.output).strip()}\n"
            "It is for machines of the worker's kind; give the role 'etl' to a host of the same kind"
        )
    return path


def _only(package: str, pattern: str) -> Path:
    (found,) = Path(str(files(package))).glob(pattern)
    return found
