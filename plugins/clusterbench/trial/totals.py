"""What an engine has counted so far, read right before and right after the driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterbench.base.database_work import BYTES_PER_MB
from clusterbench.base.plans import PLANNED
from clusterbench.base.statement_work import TEXT_MAX, since
from clusterbench.engines import Engine

ARRAY = re.compile(r"ARRAY ?\[\$\d+(?: ?, ?\$\d+)+\]")
"""Of all that a parameter draws from."""
STATEMENTS, SEGMENTS = "statement_totals", "segment_totals"
"""In ``before.json`` and ``after.json`` alone: a record has the differences."""


def before(engine: Engine) -> dict[str, Any]:
    counted = engine.statement_totals() if hasattr(engine, "statement_totals") else {}
    statements = {number: one.as_json() for number, one in counted.items()}
    found: dict[str, Any] = {"counters": engine.counters(), **({STATEMENTS: statements} if counted else {})}
    return found | _by_segment(engine)


def after(engine: Engine, then: Mapping[str, Any]) -> dict[str, Any]:
    """``then``: what ``before`` has said."""
    found: dict[str, Any] = {"counters": engine.counters(), **_by_segment(engine)}
    if SEGMENTS in then and SEGMENTS in found:
        found["segments"] = uneven(then[SEGMENTS], found[SEGMENTS])
    if STATEMENTS in then:
        gone = since(then[STATEMENTS], engine.statement_totals())  # type: ignore[attr-defined]
        texts = engine.statement_texts(list(gone)) if gone else {}  # type: ignore[attr-defined]
        found["statements"] = [
            {"statement": _shortened(texts.get(number, "")), **one.as_json()} for number, one in gone.items()
        ]
    return found


def _by_segment(engine: Engine) -> dict[str, Any]:
    counted = engine.segment_totals() if hasattr(engine, "segment_totals") else {}
    return {SEGMENTS: counted} if counted else {}


def uneven(before: Mapping[str, Mapping[str, int]], after: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Of each total that grew: what all segments did (``mb``), and the one that did most, by its number and MB.

    A statement ends when its slowest segment has ended, so one that does twice its share halves the speed of all.
    """
    found = {}
    for name in ("temporary_bytes", "read_bytes"):
        grown = {
            number: max(0, totals[name] - before.get(number, totals)[name]) / BYTES_PER_MB
            for number, totals in after.items()
        }
        if total := sum(grown.values()):
            most = max(grown, key=lambda number: grown[number])
            found[name.replace("_bytes", "_mb")] = {
                "mb": round(total, 3),
                "segments": len(grown),
                "segment": int(most),
                "most_mb": round(grown[most], 3),
            }
    return found


def _shortened(text: str) -> str:
    """The server may know it by the name under which it was asked for the plan."""
    return ARRAY.sub("ARRAY[…]", " ".join(text.split()).removeprefix(f"PREPARE {PLANNED} AS "))[:TEXT_MAX]
