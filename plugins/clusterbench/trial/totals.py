"""What an engine has counted so far, read right before and right after the driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterbench.base.plans import PLANNED
from clusterbench.base.statement_work import TEXT_MAX, since
from clusterbench.engines import Engine

ARRAY = re.compile(r"ARRAY ?\[\$\d+(?: ?, ?\$\d+)+\]")
"""Of all that a parameter draws from."""
STATEMENTS = "statement_totals"
"""In ``before.json`` alone: a record has the differences."""


def before(engine: Engine) -> dict[str, Any]:
    counted = engine.statement_totals() if hasattr(engine, "statement_totals") else {}
    statements = {number: one.as_json() for number, one in counted.items()}
    return {"counters": engine.counters(), **({STATEMENTS: statements} if counted else {})}


def after(engine: Engine, then: Mapping[str, Any]) -> dict[str, Any]:
    """``then``: what ``before`` has said."""
    found: dict[str, Any] = {"counters": engine.counters()}
    if STATEMENTS in then:
        gone = since(then[STATEMENTS], engine.statement_totals())  # type: ignore[attr-defined]
        texts = engine.statement_texts(list(gone)) if gone else {}  # type: ignore[attr-defined]
        found["statements"] = [
            {"statement": _shortened(texts.get(number, "")), **one.as_json()} for number, one in gone.items()
        ]
    return found


def _shortened(text: str) -> str:
    """The server may know it by the name under which it was asked for the plan."""
    return ARRAY.sub("ARRAY[…]", " ".join(text.split()).removeprefix(f"PREPARE {PLANNED} AS "))[:TEXT_MAX]
