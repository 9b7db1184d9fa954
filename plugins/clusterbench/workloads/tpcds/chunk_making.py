"""Chunks of dsdgen's rows as files: a host makes them by all of its processors, and counts them, without a database."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.workloads import etl_files
from clusterbench.workloads.tpcds import dsdgen, programs
from clusterbench.workloads.tpcds.dsdgen import Chunk

if TYPE_CHECKING:
    from clusterbench.hosts.fleet import Fleet


@dataclass(frozen=True)
class Counted:
    """What a chunk's file has, by DuckDB on the host that made it."""

    rows: int
    checksum: int
    bytes: int


@dataclass(frozen=True)
class Maker:
    """A host that makes chunks. ``path``: the folder for their files, which is there; ``job``: the name of its jobs."""

    fleet: Fleet
    host: str
    job: str
    path: str
    programs: str
    """The folder of the generator and of DuckDB's program on the host."""

    def make(self, batch: Sequence[Chunk], scale_factor: float) -> dict[Chunk, Counted]:
        """Their files, by one job, as many at once as the host has processors. Raises DatasetError."""
        making = script(
            "tpcds/make_chunks",
            generator=f"{self.programs}/{programs.GENERATOR}",
            duckdb=f"{self.programs}/{programs.DUCKDB}",
            scale_factor=f"{scale_factor:f}",
            folder=self.path,
        )
        lines = "".join(f"{chunk.name} {chunk.table} {chunk.number} {chunk.of}\n" for chunk in batch)
        counts = {f"{table}.sql": dsdgen.count_sql(table) + ";\n" for table in {chunk.table for chunk in batch}}
        work = Job({"chunks": lines, **counts}, {}, making)
        said = etl_files.run(self.fleet, self.host, self.job, work, result="facts")
        found = {words[0]: Counted(*map(int, words[1:])) for words in map(str.split, said.splitlines())}
        return {chunk: found[chunk.name] for chunk in batch}


def processors(fleet: Fleet, hosts: Sequence[str]) -> Mapping[str, int]:
    """Host -> how many chunks it makes at once."""
    return {host: int(answer.output) for host, answer in fleet.run(hosts, "nproc").items()}


def take(queue: deque[Chunk], count: int) -> list[Chunk]:
    """The next so many, or what is left."""
    taken: list[Chunk] = []
    while len(taken) < count:
        try:
            taken.append(queue.popleft())
        except IndexError:
            break
    return taken
