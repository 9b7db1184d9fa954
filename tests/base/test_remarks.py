"""What holds of what people said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from clusterbench.base.remarks import Remark, tags_of, withdrawals, withdrawn

MAY = datetime(2026, 5, 12, 8, 30, tzinfo=UTC)
RUN = Remark("withdrawn", "disk full", "ann", MAY, "key_value", "20260512T000000Z-aaaaaa")
CELL = replace(RUN, platform="lab_db1", cell="concurrency-1", text="a neighbour")


def later(one: Remark, hours: int, **other: object) -> Remark:
    return replace(one, said_at=one.said_at + timedelta(hours=hours), **other)  # type: ignore[arg-type]


def test_a_remark_is_read_as_it_was_written_and_what_a_later_version_adds_is_left_out() -> None:
    event = Remark("event", "storage rebuilt", "ann", MAY, platform="lab_db1", happened_at=MAY)
    assert Remark.of({**event.as_json(), "object": "x"}) == event
    assert event.line == "on 12 May 2026, lab_db1: storage rebuilt (said by ann)"
    assert replace(event, platform="").line == "on 12 May 2026: storage rebuilt (said by ann)"


def test_a_run_takes_its_cells_with_it_and_a_cell_not_its_run() -> None:
    assert withdrawn([RUN], "lab_db1", "concurrency-1") == "withdrawn by ann on 12 May 2026: disk full"
    assert withdrawn([RUN])
    assert withdrawn([CELL], "lab_db1", "concurrency-1").endswith("a neighbour")
    assert not withdrawn([CELL], "lab_db1", "concurrency-2")
    assert not withdrawn([CELL], "lab_db2", "concurrency-1")
    assert not withdrawn([CELL])


def test_the_last_word_on_each_target_holds_in_whatever_order_they_are_read() -> None:
    back = later(RUN, 1, kind="put_back", text="it was another disk")
    again = later(RUN, 2, text="it was that disk")
    assert withdrawals([back, RUN]) == []
    assert withdrawals([again, back, RUN]) == [again]
    assert withdrawals([CELL, back, RUN]) == [CELL]


def test_tags_are_those_of_the_start_and_of_notes() -> None:
    note = replace(RUN, kind="note", tags=("after", "before"))
    assert tags_of(["before"], [note, replace(RUN, tags=("of_no_note",))]) == ["before", "after"]
