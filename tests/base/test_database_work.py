"""What a database did during a trial: from totals before and after, and what of it is told as a change."""

from __future__ import annotations

import pytest

from clusterbench.base.database_work import TOTALS, WorkChange, changes, of_trial

OF_NEWER_SERVERS = {"data_written_mb", "data_written_by_sessions_mb"}
BEFORE = {"temporary_bytes": 5_000_000, "read_bytes": 0, "wal_bytes": 70_000_000, "checkpoints": 3, "deadlocks": 0}


def test_totals_become_differences_in_megabytes() -> None:
    after = BEFORE | {"temporary_bytes": 12_500_000, "wal_bytes": 70_800_000, "checkpoints": 4}
    assert of_trial(BEFORE, after) == {
        "temporary_mb": 7.5,
        "read_mb": 0.0,
        "wal_mb": 0.8,
        "checkpoints": 1.0,
        "deadlocks": 0.0,
    }
    assert of_trial(BEFORE, after).keys() == TOTALS.keys() - OF_NEWER_SERVERS


def test_share_of_memory_that_others_had_is_of_all_that_there_was_meanwhile() -> None:
    before = {"others_mb_s": 50, "yarn_mb_s": 1000}
    assert of_trial(before, {"others_mb_s": 80, "yarn_mb_s": 1300}) == {"others_memory_share": pytest.approx(0.1)}
    assert of_trial(before, {"others_mb_s": 10, "yarn_mb_s": 1300}) == {}, "the ResourceManager has forgotten some"


@pytest.mark.parametrize("sides", [({}, BEFORE), (BEFORE, {}), (BEFORE, BEFORE | {"wal_bytes": 0})])
def test_what_was_not_counted_or_reset_is_none(sides: tuple[dict[str, int], dict[str, int]]) -> None:
    assert "wal_mb" not in of_trial(*sides)


def test_what_is_much_more_is_told_first_by_proportion() -> None:
    before = {"temporary_mb": 0.0, "read_mb": 400.0, "wal_mb": 100.0, "checkpoints": 1.0, "deadlocks": 0.0}
    found = changes(before, {"temporary_mb": 812.0, "read_mb": 900.0, "wal_mb": 110.0, "checkpoints": 1.2})
    assert found == [WorkChange("temporary_mb", 0.0, 812.0), WorkChange("read_mb", 400.0, 900.0)]
    assert str(found[0]) == "written to temporary files: 0\u202fMB before, 812\u202fMB after"


def test_little_is_no_change_however_many_times_as_much() -> None:
    assert changes({"temporary_mb": 0.0, "wal_mb": 0.1}, {"temporary_mb": 0.4, "wal_mb": 8.0}) == []
