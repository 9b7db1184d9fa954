"""What a server counted of each statement between two looks."""

from __future__ import annotations

from typing import Any, cast

from clusterbench.base.statement_work import Totals
from clusterbench.engines import Engine
from clusterbench.trial import totals


class Server:
    """Counts one statement, which draws from many values."""

    def __init__(self) -> None:
        self.calls = 0.0

    def counters(self) -> dict[str, Any]:
        return {}

    def statement_totals(self) -> dict[str, Totals]:
        self.calls += 5
        return {"7": Totals(self.calls, 2 * self.calls, 0, 0, 0)}

    def statement_texts(self, numbers: list[str]) -> dict[str, str]:
        listed = ", ".join(f"${n}" for n in range(1, 500))
        sql = f"/* s01 */ SELECT 1 WHERE id = (CAST(ARRAY[{listed}]\n AS integer[]))[$500]"
        return dict.fromkeys(numbers, f"PREPARE clusterbench_planned AS {sql}")


def test_the_segment_that_did_most_is_told_beside_all() -> None:
    before = {"0": {"temporary_bytes": 0, "read_bytes": 8}, "1": {"temporary_bytes": 5_000_000, "read_bytes": 8}}
    after = {"0": {"temporary_bytes": 1_000_000, "read_bytes": 8}, "1": {"temporary_bytes": 8_000_000, "read_bytes": 8}}
    assert totals.uneven(before, after) == {"temporary_mb": {"mb": 4.0, "segments": 2, "segment": 1, "most_mb": 3.0}}, (
        "nothing was read"
    )
    reset = {"1": {"temporary_bytes": 0, "read_bytes": 0}, "2": {"temporary_bytes": 7, "read_bytes": 7}}
    assert totals.uneven(before, reset) == {}, "counted anew, or for the first time"


def test_a_statement_is_told_without_all_that_it_draws_from() -> None:
    server = cast("Engine", Server())
    (said,) = totals.after(server, totals.before(server))["statements"]
    assert said["statement"] == "/* s01 */ SELECT 1 WHERE id = (CAST(ARRAY[…] AS integer[]))[$500]"
    assert (said["calls"], said["time_ms"]) == (5.0, 10.0)
