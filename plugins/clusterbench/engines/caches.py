"""Put the caches into a named state, and prove it.

cold           database restarted, file system's cache emptied; shown by pg_buffercache and fincore
warm           relations read into the database's cache as far as they fit, and so into the file system's
database_warm  as warm, then the file system's cache emptied: the database's own cache alone
ramped_up      left as they are: the load fills them before its measured window begins
as_left        left as the trials before left them, as reports that run after each other find them; measured, not made

A state that cannot be had is ``CannotEmpty``, never a warm trial that is called cold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from clusterbench.base.capabilities import why_no_cache_state
from clusterbench.base.errors import ClusterbenchError, EngineError
from clusterbench.engines import Database, Engine, Residency, as_database

COLD_SHARE_MAX = 0.01
"""Share of the relations' bytes that may be in memory in a cold trial: opening a table reads a page or two."""
SMALL_BYTES = 64 * 1024
"""... and this much of a small table, where one page is more than a hundredth."""
WARM_SHARE_MIN = 0.9
"""A table in neither cache by a tenth is larger than memory, and is said to be so."""


class CannotEmptyError(ClusterbenchError):
    """Caches cannot be emptied here; the message says why. The trial is ``not_applicable``."""


def set_state(state: str, engine: Engine, relations: Sequence[str], *, page_cache: str) -> dict[str, Any]:
    """Bring the caches into ``state``. Returns the evidence, with ``problem`` None where the state was reached."""
    if not relations:
        return {"state": state, "method": "none", "problem": None, "proof": "none: it reads no table"}
    if state == "ramped_up":
        return {"state": state, "method": "none", "problem": None, "proof": "none: the ramp-up fills them"}
    if why := why_no_cache_state(state, engine.unavailable):
        raise CannotEmptyError(why)
    database = as_database(engine)
    if state == "as_left":
        page_cache = "none"
    elif state == "cold":
        database.stop()
        try:
            _empty(database, relations)
        finally:
            database.start()
    else:
        database.warm(relations)
        if state == "database_warm":
            _empty(database, relations)
    found = database.residency(relations)
    if found is None:
        return {"state": state, "method": "none", "problem": None, "proof": "none: no host can be asked"}
    return {"state": state, "method": page_cache, **asdict(found), "problem": problem(state, found)}


def _empty(engine: Database, relations: Sequence[str]) -> None:
    try:
        engine.empty_file_system_cache(relations)
    except EngineError as error:
        raise CannotEmptyError(f"the file system cache could not be emptied: {error}") from None


def problem(state: str, found: Residency) -> str | None:
    """What contradicts the named state, or None. Pure."""
    cold_max = max(COLD_SHARE_MAX * found.total_bytes, SMALL_BYTES)
    if state in ("cold", "database_warm") and found.file_system_bytes > cold_max:
        return (
            f"{found.file_system_bytes:,} of {found.total_bytes:,} bytes were in the file system's cache at the start "
            f"of a {state} trial; at most {cold_max:,.0f} may be"
        )
    if state == "cold" and found.database_bytes > cold_max:
        return (
            f"{found.database_bytes:,} of {found.total_bytes:,} bytes were in the database's cache at the start of a "
            f"cold trial; at most {cold_max:,.0f} may be"
        )
    if state == "database_warm" and found.total_bytes and not found.database_bytes:
        return "nothing of the relations was in the database's cache at the start of a database-warm trial"
    warm = max(found.database_bytes, found.file_system_bytes)
    if state == "warm" and warm < WARM_SHARE_MIN * found.total_bytes:
        return (
            f"only {warm:,} of {found.total_bytes:,} bytes were in memory at the start of a warm trial; the table is "
            "larger than the caches: measure it cold, or give the host more memory"
        )
    return None
