"""Why a result changed: what was recorded of it, what explains most first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterbench.base.run_ids import asked_at
from clusterbench.base.words import as_sentence, plural
from clusterbench.report.week.week import SeriesVerdict, day
from clusterbench.results.facts_compared import Difference
from clusterbench.results.statements import NONE_STANDS_OUT

FACTS_SHOWN = 4
PLANS_SHOWN = 2
NOTHING = "Nothing that was recorded changed there: no fact of hosts or engine, no setting{plans}."


def why(one: SeriesVerdict) -> list[str]:
    """Sentences. What people said happened there comes first, then facts and settings that changed in that very run.

    Plans may follow from these, and come next; then locks that were waited for more; then facts that hardly decide, as
    the version of a shell; then which statements the change is made of, and what the database did otherwise. That no
    statement stands out says less than that. Facts that changed a run or two apart come last.
    """
    of_statements = _sentences([one.made_of])
    of_work = _sentences([str(change) for change in one.work if not change.is_of_locks])
    no_cause = one.made_of.startswith(NONE_STANDS_OUT)
    beside = of_work + of_statements if no_cause else of_statements + of_work
    events = [as_sentence(event.line) for event in one.events]
    if not one.plans and not one.facts:
        return [*events, *_locks(one), *beside, NOTHING.format(plans="" if one.plans is None else ", and no plan")]
    if not _is_at_once(one):
        return [*events, *_plans(one), *_locks(one), *beside, *_facts(one, one.facts)]
    deciding, others = ([fact for fact in one.facts if fact.decides is each] for each in (True, False))
    return [*events, *_facts(one, deciding), *_plans(one), *_locks(one), *_facts(one, others), *beside]


def _sentences(said: Sequence[str]) -> list[str]:
    """All in one; none where nothing is said."""
    text = "; ".join(filter(None, said))
    return [as_sentence(text)] if text else []


def _locks(one: SeriesVerdict) -> list[str]:
    said = [str(change) for change in one.work if change.is_of_locks]
    return _sentences([*said, one.held_by]) if said else []


def _is_at_once(one: SeriesVerdict) -> bool:
    return one.facts_run_id in (None, one.change.at_run_id)


def _plans(one: SeriesVerdict) -> list[str]:
    plans = one.plans or ()
    said = [as_sentence(str(change)) for change in plans[:PLANS_SHOWN]]
    more = len(plans) - len(said)
    return [*said, *([f"So did {plural(more, 'other plan')}."] if more > 0 else [])]


def _facts(one: SeriesVerdict, found: Sequence[Difference]) -> list[str]:
    """Which changed where the level did, or near to it: the run of a change is known to a run or two."""
    if not found:
        return []
    said = "; ".join(facts(found))
    if _is_at_once(one):
        return [f"Facts that changed there: {said}."]
    when = asked_at(one.facts_run_id or "")
    return [f"Facts that changed near to it, in the run of {day(when) if when else one.facts_run_id}: {said}."]


UNITS = {"_mb_per_s": "MB/s", "_mbit_per_s": "Mbit/s", "_ms": "ms", "_mhz": "MHz", "_mb": "MB"}
"""Endings of names of facts; sizes in bytes say their unit themselves."""


def facts(found: Sequence[Difference], *, more: int = FACTS_SHOWN) -> list[str]:
    """ "kernel of client, segment: 6.1.0-25 \u2192 6.1.0-28"; those that decide first."""
    said = [f"{_fact(one.what)} ({one.where}): {one.a} \u2192 {one.b}" for one in found[:more]]
    return [*said, *([f"and {plural(len(found) - more, 'other fact')}"] if len(found) > more else [])]


def _fact(name: str) -> str:
    """An engine's setting by its own name, any other fact in words; where it is of is said beside it."""
    name = name.removeprefix("engine.")
    if name.startswith("settings."):
        return name.removeprefix("settings.")
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).replace('_', ' ')}, {unit}"
    return name.replace("_", " ")
