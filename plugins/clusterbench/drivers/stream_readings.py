"""What became of each statement of each stream. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from clusterbench.drivers.psql_streams import Timed

SHOWN = 5
Named = TypeVar("Named", bound=Hashable)


def each(planned: Mapping[int, Sequence[Named]], timed: Sequence[Timed], called: str) -> list[dict[str, Any]]:
    """In the order in which they were to run; one without a time did not end. ``called``: the key of their names.

    Of several rounds the time is the mean of those in which it ended, and the error the first.
    """
    found: dict[tuple[int, int], list[Timed]] = {}
    for one in timed:
        found.setdefault((one.stream, one.number), []).append(one)
    rows = []
    for stream, names in planned.items():
        for number, name in enumerate(names, 1):
            done = found.get((stream, number), [])
            row: dict[str, Any] = {"stream": stream, called: name, "time_s": None}
            if not done:
                row["error"] = "did not end: the session was lost, or ended with the trial"
            if times := [one.time_s for one in done if not one.error]:
                row["time_s"] = round(sum(times) / len(times), 6)
            if failed := next((one for one in done if one.error), None):
                row |= {"error": failed.error, "failed_after_s": round(failed.time_s, 3)}
            rows.append(row)
    return rows


def means(planned: Mapping[int, Sequence[Named]], timed: Sequence[Timed]) -> dict[Named, float]:
    """The mean time of each statement, in seconds, over the streams and rounds in which it ended well."""
    found: dict[Named, list[float]] = {}
    for one in timed:
        if not one.error:
            found.setdefault(planned[one.stream][one.number - 1], []).append(one.time_s)
    return {name: sum(times) / len(times) for name, times in found.items()}


def past_their_limit(planned: Mapping[int, Sequence[Named]], timed: Sequence[Timed], called: str) -> tuple[str, ...]:
    """Those that the server ended, in words: "query 7 of stream 2 was ended at its limit, 3600.1 s"."""

    def said() -> Iterator[str]:
        for one in timed:
            if "statement timeout" in one.error:
                name = planned[one.stream][one.number - 1]
                yield f"{called} {name} of stream {one.stream} was ended at its limit, {one.time_s:.1f} s"

    return tuple(said())[:SHOWN]
