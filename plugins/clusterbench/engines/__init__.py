"""What an engine must be able to do. One module per engine, found by its name; engine differences live nowhere else.

A module ``engines/x.py`` holds ``ENGINE``, a class with the attributes and methods of ``Engine``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from clusterbench.connections import Connection
    from clusterbench.hosts import Fleet
    from clusterbench.spec.platform import Platform


@dataclass(frozen=True)
class Endpoint:
    """Where a driver connects: the database itself, or the pooler before it."""

    host: str
    port: int
    login: str
    database: str


@dataclass(frozen=True)
class Residency:
    """Bytes of some relations, and how many of them were in the database's cache and in the file system's."""

    total_bytes: int
    database_bytes: int
    file_system_bytes: int


class Engine(Protocol):
    """One running deployment of an engine. Every method raises EngineError or HostError in words for people."""

    title: str
    lacks: Mapping[str, str]
    """What this engine cannot do, and the reason: ``{"orca": "PostgreSQL has no ORCA optimizer"}``."""

    database: Connection

    def __init__(
        self, platform: Platform, fleet: Fleet, database: Connection, facts: Mapping[str, Any] | None = None
    ) -> None:
        """``facts`` are those of set-up: a stopped server cannot be asked where its data and programs are."""

    def facts(self) -> dict[str, Any]:
        """Version, place of data and programs, settings that differ from their defaults."""

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The values in force of these settings, as the server prints them; unknown names are left out."""

    def free_bytes(self) -> int: ...

    def parallelism(self) -> int:
        """How many connections generate data at once."""

    def query(self, statement: str) -> list[dict[str, Any]]: ...

    def execute(self, statement: str) -> None: ...

    def load_slices(
        self, table: str, seed: int, slices: Sequence[tuple[int, int]], insert: Callable[[int, int], str]
    ) -> Iterator[int]:
        """Run ``insert(first, last)`` for each slice not loaded yet, several at once; yields rows as slices finish."""

    def forget_slices(self, table: str) -> None:
        """Before a table is dropped and made anew."""

    def table_storage(self, key: str) -> str:
        """What follows the column list of CREATE TABLE: storage, and the distribution key where there is one."""

    def settle(self, table: str) -> None:
        """After loading: statistics, visibility, everything written to disk, so that no chore runs beside a trial."""

    def set_session(self, settings: Mapping[str, str]) -> None:
        """Settings of every session that a driver opens from now on, direct or pooled."""

    def reset_session(self) -> None: ...

    def explain(self, statement: str) -> str: ...

    def stop(self) -> None: ...

    def start(self) -> None: ...

    def warm(self, relations: Sequence[str]) -> None:
        """Read the relations into the database's cache, as far as they fit."""

    def empty_file_system_cache(self, relations: Sequence[str]) -> None: ...

    def residency(self, relations: Sequence[str]) -> Residency: ...

    def endpoint(self, *, pooled: bool) -> Endpoint: ...

    def start_pooler(self, mode: str, size: int) -> None: ...

    def stop_pooler(self) -> None: ...


def engine_class(name: str) -> type[Engine]:
    """The engine of that name; ``Catalog`` has checked that it exists."""
    return cast(type[Engine], importlib.import_module(f"clusterbench.engines.{name}").ENGINE)
