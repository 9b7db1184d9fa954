"""What one line says of a run: what it measured and where, whether its numbers may be used, and who started it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clusterbench.base import remark_store, remarks
from clusterbench.base.archive import RunArchive
from clusterbench.base.in_parallel import AT_ONCE, in_parallel
from clusterbench.base.run_ids import WEEKLY
from clusterbench.base.words import said_by
from clusterbench.results.run_state import RunState, archived_state
from clusterbench.trial.rehearsal import scale_of

WITHDRAWN = "withdrawn"
"""In place of the run's state where a person withdrew the run."""
NOT_YET = f"{RunState.INCOMPLETE} (yet)"
"""Of a run without a manifest: it is still going on, or it ended before its archive was sealed. A list cannot tell."""

GOT_WORSE = "valid, something got worse"
"""Of a weekly run whose runs may all be used, and in which a result got worse or is no longer there."""


@dataclass(frozen=True)
class ListedRun:
    """``run`` is what commands take. A weekly run has no platforms; ``scale`` is None where the run was not opened."""

    run: str
    experiment: str
    run_id: str
    platforms: tuple[str, ...]
    scale: str | None
    validity: str
    started_by: str
    note: str = ""
    tags: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def newest_runs(
    runs: Sequence[RunArchive], limit: int, platform: str | None = None, tag: str | None = None
) -> list[ListedRun]:
    """The first ``limit`` of ``runs``, or of those that have the platform and the tag.

    A few objects of each are read, of several runs at once, and no more runs than it takes.
    """
    found: list[ListedRun] = []
    step = limit if platform is None and tag is None else max(limit, AT_ONCE)
    for start in range(0, len(runs), step):
        read = in_parallel(lambda run: read_line(run, platform, tag), runs[start : start + step])
        found += [line for line in read if line]
        if len(found) >= limit:
            break
    return found[:limit]


def read_line(run: RunArchive, platform: str | None = None, tag: str | None = None) -> ListedRun | None:
    """None where the run does not have the platform or the tag that is asked for."""
    opened = run.get_json("run.json") or {}
    choices = opened.get("choices") or {}
    platforms = tuple(choices.get("platforms") or ())
    if platform is not None and platform not in platforms:
        return None
    said = remark_store.read(run.store, remarks.folder_of(run.experiment, run.run_id))
    tags = remarks.tags_of(choices.get("tags") or (), said)
    if tag is not None and tag not in tags:
        return None
    is_withdrawn = bool(remarks.withdrawn(remarks.withdrawals(said)))
    return ListedRun(
        run.name,
        run.experiment,
        run.run_id,
        platforms,
        scale_of(choices) or None,
        WITHDRAWN if is_withdrawn else _validity(run),
        said_by(opened.get("started_by") or {}),
        str(choices.get("note") or ""),
        tuple(tags),
    )


def _validity(run: RunArchive) -> str:
    state = archived_state(run)
    if run.experiment == WEEKLY and state is RunState.NOT_VALID and _only_got_worse(run):
        return GOT_WORSE
    return NOT_YET if state is RunState.INCOMPLETE else state.value


def _only_got_worse(week: RunArchive) -> bool:
    """A week is sealed as not valid also for what got worse, and each of its runs says for itself what it is.

    Of weeks of versions that did not note the word: False.
    """
    runs = (week.get_json("week.json") or {}).get("runs") or []
    usable = {state.value for state in RunState if state.is_usable}
    if not runs or week.get_json("changes.json") is None:
        return False
    return all(run.get("state") == "success" and run.get("validity") in usable for run in runs)
