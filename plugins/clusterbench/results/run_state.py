"""What a run is called everywhere: in its report, in lists, in the UI, in week.json. See docs/words.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterbench.base.archive import RunArchive


class RunState(StrEnum):
    """May a run's numbers be used? The value is the word; ``css`` colours it, and ``meaning`` is a sentence."""

    VALID = "valid"
    WARNINGS = "valid with warnings"
    NOT_VALID = "not valid"
    INCOMPLETE = "did not complete"

    @property
    def css(self) -> str:
        return _CSS[self]

    @property
    def is_usable(self) -> bool:
        """Whether its numbers may be used."""
        return self in {RunState.VALID, RunState.WARNINGS}


_CSS = {
    RunState.VALID: "pass",
    RunState.WARNINGS: "warning",
    RunState.NOT_VALID: "fail",
    RunState.INCOMPLETE: "none",
}


def run_state(valid: bool | None, *, has_warnings: bool) -> RunState:
    """``valid`` is None for a run that was never judged. ``has_warnings``: a check that is not critical failed, or a
    step had an error.
    """
    if valid is None:
        return RunState.INCOMPLETE
    if not valid:
        return RunState.NOT_VALID
    return RunState.WARNINGS if has_warnings else RunState.VALID


def archived_state(run: RunArchive) -> RunState:
    """Of a run in object storage: two small objects are read. Without a manifest it did not complete, or not yet."""
    from clusterbench.base.archive import MANIFEST  # noqa: PLC0415  boto3, which no DAG needs

    manifest = run.get_json(MANIFEST)
    if manifest is None:
        return RunState.INCOMPLETE
    verdicts: Iterable[Mapping[str, Any]] = (run.get_json("verdicts.json") or {}).get("verdicts", [])
    has_errors = any(key.startswith("errors/") for key in manifest.get("objects", ()))
    has_warnings = has_errors or not all(verdict["passed"] for verdict in verdicts)
    return run_state(bool(manifest["valid"]), has_warnings=has_warnings)
