"""What contradicts a named cache state, and how a state is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from clusterbench.base.errors import EngineError
from clusterbench.engines import Residency, caches

MB = 1_000_000
TABLE = 100 * MB
ONE_PERCENT = MB


def found(database: int = 0, file_system: int = 0, total: int = TABLE) -> Residency:
    return Residency(total, database, file_system)


@pytest.mark.parametrize(
    ("state", "residency"),
    [
        ("cold", found()),
        ("cold", found(database=ONE_PERCENT, file_system=ONE_PERCENT)),
        ("cold", found(total=0)),
        ("cold", found(database=64 * 1024, file_system=64 * 1024, total=200_000)),
        ("warm", found(database=TABLE)),
        ("warm", found(file_system=TABLE)),
        ("warm", found(database=90 * MB)),
        ("warm", found(total=0)),
        ("database_warm", found(database=TABLE)),
        ("database_warm", found(database=8192)),
        ("database_warm", found(database=TABLE, file_system=ONE_PERCENT)),
    ],
)
def test_state_was_reached(state: str, residency: Residency) -> None:
    assert caches.problem(state, residency) is None


@pytest.mark.parametrize(
    ("state", "residency", "said"),
    [
        ("cold", found(file_system=ONE_PERCENT + 1), "1,000,001 of 100,000,000 bytes were in the file system's cache"),
        ("cold", found(database=ONE_PERCENT + 1), "1,000,001 of 100,000,000 bytes were in the database's cache"),
        ("cold", found(database=TABLE, file_system=TABLE), "at most 1,000,000 may be"),
        ("cold", found(file_system=64 * 1024 + 1, total=200_000), "at most 65,536 may be"),
        ("warm", found(), "only 0 of 100,000,000 bytes were in memory"),
        ("warm", found(database=90 * MB - 1), "larger than the caches"),
        ("warm", found(database=60 * MB, file_system=60 * MB), "only 60,000,000 of"),
        ("database_warm", found(), "nothing of the relations was in the database's cache"),
        ("database_warm", found(database=TABLE, file_system=ONE_PERCENT + 1), "of a database_warm trial"),
    ],
)
def test_state_was_not_reached_and_what_was_found_is_said(state: str, residency: Residency, said: str) -> None:
    assert said in str(caches.problem(state, residency))


class TinyEngine:
    """Notes what it is asked to do; memory is what it was told to find."""

    def __init__(
        self,
        residency: Residency | None,
        *,
        cannot_empty: str = "",
        cannot_stop: str = "",
        unavailable: Mapping[str, str] | None = None,
    ) -> None:
        self.done: list[str] = []
        self.unavailable = unavailable or {}
        self.found, self.cannot_empty, self.cannot_stop = residency, cannot_empty, cannot_stop

    def query(self, query: str) -> list[dict[str, Any]]:
        """What tells a database from another engine."""
        raise AssertionError(query)

    def stop(self) -> None:
        self.done.append("stop")
        if self.cannot_stop:
            raise EngineError(self.cannot_stop)

    def start(self) -> None:
        self.done.append("start")

    def warm(self, relations: Sequence[str]) -> None:
        self.done.append(f"warm {' '.join(relations)}")

    def empty_file_system_cache(self, relations: Sequence[str]) -> None:
        self.done.append("empty")
        if self.cannot_empty:
            raise EngineError(self.cannot_empty)

    def residency(self, relations: Sequence[str]) -> Residency | None:
        self.done.append(f"look {' '.join(relations)}")
        return self.found


def make(state: str, engine: TinyEngine, page_cache: str = "drop_caches") -> dict[str, Any]:
    return caches.set_state(state, engine, ["t", "i"], page_cache=page_cache)  # type: ignore[arg-type]


def test_cold_is_emptied_while_the_database_is_down_and_then_proven() -> None:
    engine = TinyEngine(found())
    evidence = make("cold", engine)
    assert engine.done == ["stop", "empty", "start", "look t i"]
    assert evidence == {
        "state": "cold",
        "method": "drop_caches",
        "total_bytes": TABLE,
        "database_bytes": 0,
        "file_system_bytes": 0,
        "problem": None,
    }


def test_warm_reads_the_relations_and_restarts_nothing() -> None:
    engine = TinyEngine(found(database=TABLE))
    assert make("warm", engine)["problem"] is None
    assert engine.done == ["warm t i", "look t i"]


def test_database_warm_empties_the_other_cache_after_warming() -> None:
    engine = TinyEngine(found(database=TABLE))
    assert make("database_warm", engine)["problem"] is None
    assert engine.done == ["warm t i", "empty", "look t i"]


def test_as_left_is_looked_at_and_nothing_is_done_or_wrong() -> None:
    engine = TinyEngine(
        found(database=7, file_system=30 * MB), unavailable={"flush": "no leave", "restart": "no leave"}
    )
    evidence = make("as_left", engine)
    assert engine.done == ["look t i"]
    assert (evidence["method"], evidence["problem"]) == ("none", None)
    assert (evidence["database_bytes"], evidence["file_system_bytes"], evidence["total_bytes"]) == (7, 30 * MB, TABLE)


def test_state_that_was_not_reached_is_in_the_evidence() -> None:
    evidence = make("cold", TinyEngine(found(file_system=TABLE)), "evict_files")
    assert evidence["method"] == "evict_files"
    assert "file system's cache at the start of a cold trial" in evidence["problem"]


@pytest.mark.parametrize("state", ["cold", "database_warm"])
def test_platform_that_cannot_empty_caches_is_left_alone(state: str) -> None:
    engine = TinyEngine(found(), unavailable={"flush": "the file says so"})
    with pytest.raises(caches.CannotEmptyError, match="the file says so"):
        make(state, engine, "none")
    assert engine.done == []


def test_without_a_host_to_ask_a_warm_state_is_made_and_said_to_be_unproven() -> None:
    engine = TinyEngine(None, unavailable={"flush": "no hosts"})
    assert make("warm", engine)["proof"] == "none: no host can be asked"
    assert engine.done == ["warm t i", "look t i"]


def test_platform_that_cannot_empty_caches_can_be_warm() -> None:
    assert make("warm", TinyEngine(found(database=TABLE)), "none")["problem"] is None


def test_engine_is_started_again_when_emptying_fails() -> None:
    engine = TinyEngine(found(), cannot_empty="it needs root")
    with pytest.raises(caches.CannotEmptyError, match="the file system cache could not be emptied: it needs root"):
        make("cold", engine)
    assert engine.done == ["stop", "empty", "start"]


def test_failed_emptying_of_a_warm_database_is_not_called_warm() -> None:
    with pytest.raises(caches.CannotEmptyError, match="it needs root"):
        make("database_warm", TinyEngine(found(database=TABLE), cannot_empty="it needs root"))


def test_engine_that_does_not_stop_is_its_own_error() -> None:
    engine = TinyEngine(found(), cannot_stop="a session hangs")
    with pytest.raises(EngineError, match="a session hangs"):
        make("cold", engine)
    assert engine.done == ["stop"]
