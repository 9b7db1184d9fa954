"""What is said of a cache that was emptied, and of one that was not."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.engines import flush
from clusterbench.run import validation

GIB = 2**30
MEMINFO = "MemTotal:       98765432 kB\nCached:         20000000 kB\nShmem:           5000000 kB\n"
EMPTIED = flush.Flushed("database", "restart", "", True, 900_000_000, 8192)


def test_page_cache_is_that_of_files_without_shared_memory() -> None:
    assert flush.read_page_cache(MEMINFO) == (15_000_000 * 1024, 98_765_432 * 1024)


@pytest.mark.parametrize(
    ("cached", "memory", "said"),
    [
        (300 * 2**20, 4 * GIB, ""),
        (int(0.9 * GIB), 96 * GIB, ""),
        (
            2 * GIB,
            96 * GIB,
            "2,147,483,648 bytes of the page cache of h1 are there still, or again; at most 1,030,792,151",
        ),
        (600 * 2**20, 4 * GIB, "at most 536,870,912 may be"),
    ],
)
def test_page_cache_that_was_dropped_holds_little(cached: int, memory: int, said: str) -> None:
    found = flush.page_cache_left({"h0": (0, memory), "h1": (cached, memory)})
    assert said in found and bool(said) == bool(found)


def test_who_is_away_is_waited_for_and_other_errors_are_told() -> None:
    def fail(error: Exception) -> None:
        raise error

    assert flush.why_not_done(lambda: None) == ""
    assert flush.why_not_done(lambda: fail(EngineError("ada has a session"))) == "ada has a session"
    with pytest.raises(EngineAwayError):
        flush.why_not_done(lambda: fail(EngineAwayError("host h1 does not answer")))


def verdict(*rows: flush.Flushed) -> Any:
    (found,) = validation.about_flush({"db1": {"caches": [{"engine": "engine", **row.as_json()} for row in rows]}})
    return found


def test_verdict_says_what_is_left_of_what_was_there() -> None:
    found = verdict(EMPTIED)
    assert (found.passed, found.check, found.critical) == (True, 3, False)
    assert found.found == "db1, cache of the database: emptied by restart, 8,192 bytes left of 900,000,000"


def test_cache_without_leave_is_no_fault_and_one_that_stayed_is() -> None:
    without = flush.Flushed("file system", "evict_files", "write 'may: [evict]' into include/platforms/db1.yaml", False)
    stayed = flush.Flushed("database", "restart", "not stopped, because other people have sessions", True, 1)
    assert verdict(EMPTIED, without).passed
    assert "db1, cache of the file system: not emptied: write 'may: [evict]'" in verdict(EMPTIED, without).found
    assert not verdict(EMPTIED, stayed).passed


def test_platform_that_never_came_to_it_is_named() -> None:
    (found,) = validation.about_flush({"db1": {}})
    assert (found.passed, found.found) == (False, "db1: the run never came to it")
    assert validation.about_flush({}) == []
