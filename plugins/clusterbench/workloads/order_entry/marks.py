"""What the comments of the tables say: who made them, of which rows, how far they are, and whether trials used them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, cast, get_args

from clusterbench.base.datasets import Dataset
from clusterbench.workloads import tables
from clusterbench.workloads.order_entry import schema

if TYPE_CHECKING:
    from clusterbench.engines import Database

State = Literal["created", "begun", "keyed", "complete", "used"]
"""``begun``: it may have rows. ``keyed``: it has all rows and its indexes. ``complete``: statistics, too. ``used``: it
was complete, and a trial has begun to change it."""


def comment(dataset: Dataset, state: State) -> str:
    return f"{tables.rows_of(dataset)}, {state}"


def read(dataset: Dataset, engine: Database) -> dict[str, State | None]:
    """State of the tables that are there; None of one with other rows, from another version or another seed.

    Raises DatasetError where one was not made by clusterbench.
    """
    found = tables.comments(dataset.table, schema.tables(), engine)
    return {name: _state(dataset, text) for name, text in found.items()}


def write(dataset: Dataset, names: Iterable[str], state: State, engine: Database) -> None:
    """All at once."""
    engine.execute(";\n".join(statement(dataset, name, state) for name in names))


def statement(dataset: Dataset, name: str, state: State) -> str:
    return tables.mark(f"{dataset.table}.{name}", comment(dataset, state))


def _state(dataset: Dataset, text: str) -> State | None:
    said = re.fullmatch(f"{re.escape(tables.rows_of(dataset))}, ({'|'.join(get_args(State))})", text)
    return cast(State, said[1]) if said else None
