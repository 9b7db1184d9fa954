"""DuckDB's program and the specification's generator on hosts: put there once, as this project's packages have them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError
from clusterbench.workloads.from_duckdb.programs import extension_file, extension_name, program_file
from clusterbench.workloads.tpcds import dsdgen

if TYPE_CHECKING:
    from clusterbench.hosts.fleet import Fleet

DUCKDB, EXTENSION, GENERATOR = "duckdb", extension_name("tpcds"), dsdgen.PROGRAM
FOLDER = "tpcds"
AT_ONCE = 4
"""Hosts that are sent programs at the same time: 80 MB to each, which the worker holds meanwhile."""


def put(fleet: Fleet, hosts: Sequence[str]) -> dict[str, str]:
    """Host -> the folder there. Raises DatasetError naming every host where one of them does not run."""
    local = {
        DUCKDB: program_file(),
        EXTENSION: extension_file("tpcds"),
        GENERATOR: dsdgen.program_file(),
    }
    content = {name: file.read_bytes() for name, file in local.items()}
    sums = "\n".join(f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in content.items())
    paths = {host: f"{work}/{FOLDER}" for host, work in fleet.work_dirs(hosts).items()}
    look = {host: f"cd {quote(paths[host])} && sha256sum --check --status <<<{quote(sums)}" for host in hosts}
    lacking = [host for host, answer in fleet.run_each(look, check=False).items() if answer.exit_status != 0]
    for n in range(0, len(lacking), AT_ONCE):
        fleet.put_each({host: (paths[host], content) for host in lacking[n : n + AT_ONCE]})
    if lacking:
        fleet.run_each({host: f"cd {quote(paths[host])} && chmod u+x * && {look[host]}" for host in lacking})
    _check_that_they_run(fleet, paths)
    return paths


def _check_that_they_run(fleet: Fleet, paths: Mapping[str, str]) -> None:
    ask = {host: f"cd {quote(path)} && ./{DUCKDB} -version && ./{GENERATOR} --version" for host, path in paths.items()}
    failed = {
        host: (answer.error or answer.output).strip()
        for host, answer in fleet.run_each(ask, check=False).items()
        if answer.exit_status != 0
    }
    if failed:
        said = "\n  ".join(f"host {host!r}: {words}" for host, words in failed.items())
        raise DatasetError(
            f"the generator of TPC-DS does not run everywhere:\n  {said}\nIts programs are for machines of the "
            "worker's kind, and files are made on all hosts with the role 'etl' or 'segment'. Give these roles to such "
            "machines, or choose generator: duckdb, which needs the first ETL host only"
        )
