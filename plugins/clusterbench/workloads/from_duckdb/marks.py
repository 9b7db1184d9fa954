"""What the comments of a schema's tables say: who made it, what is in it as the generator counted it, how far it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from clusterbench.base.datasets import Dataset
from clusterbench.workloads import tables

if TYPE_CHECKING:
    from clusterbench.engines import Database

State = Literal["begun", "loaded", "complete"]
"""``loaded``: with its keys. ``complete``: with statistics, too."""

MARK = re.compile(
    r"clusterbench: (?P<name>\w+) version (?P<version>\w+), (?P<rows>\d+) rows, checksum (?P<checksum>\d+), "
    r"(?P<state>begun|loaded|complete)"
)


@dataclass(frozen=True)
class Mark:
    """Rows and their checksum, by the generator."""

    rows: int
    checksum: int
    state: State

    def comment(self, dataset: Dataset) -> str:
        of = f"{dataset.name} version {dataset.version}, {self.rows} rows, checksum {self.checksum}"
        return f"clusterbench: {of}, {self.state}"

    def statement(self, dataset: Dataset, name: str) -> str:
        return tables.mark(f"{dataset.table}.{name}", self.comment(dataset))


def read(dataset: Dataset, names: Iterable[str], engine: Database) -> dict[str, Mark]:
    """Of the tables that are there. Raises DatasetError where one was not made by clusterbench."""
    found = tables.comments(dataset.table, names, engine)
    return {name: _mark(comment, dataset) for name, comment in found.items()}


def _mark(comment: str, dataset: Dataset) -> Mark:
    """A table of another version is to be made again, as one that was only begun."""
    said = MARK.fullmatch(comment)
    if not said or (said["name"], said["version"]) != (dataset.name, dataset.version):
        return Mark(0, 0, "begun")
    return Mark(int(said["rows"]), int(said["checksum"]), cast(State, said["state"]))
