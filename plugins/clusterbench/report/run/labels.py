"""A platform that is not durable is called so wherever it is named: its name is changed once, before anything is made.

So no table and no figure, of today or of tomorrow, can show its numbers without saying so. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusterbench.base.records import Trial
from clusterbench.base.words import plural
from clusterbench.results.gather import Gathered
from clusterbench.trial.plan import Plan


def labelled(run: Gathered) -> Gathered:
    """The run with every platform by its name and label, and every cell that its own levels make not durable."""
    kept = run.durability
    if not (kept.platforms or kept.cells):
        return run

    def keys(found: Mapping[str, Any]) -> dict[str, Any]:
        return {kept.named(name): value for name, value in found.items()}

    return replace(
        run,
        opened=_opened(run),
        plan=_plan(run),
        facts=keys(run.facts),
        conformance=keys(run.conformance),
        data=keys(run.data),
        sides=keys(run.sides),
        densities=keys(run.densities),
        vms=keys(run.vms),
        virtual=frozenset(map(kept.named, run.virtual)),
        machines=keys(run.machines),
        views={(kept.named(platform), trial): view for (platform, trial), view in run.views.items()},
        results=[replace(each, platform=kept.named(each.platform)) for each in kept.labelled(run.results)],
        trials=[replace(record, trial=_trial(run, record.trial)) for record in run.trials],
        without_result=[replace(record, trial=_trial(run, record.trial)) for record in run.without_result],
        verdicts=[replace(each, says=_text(run, each.says), found=_text(run, each.found)) for each in run.verdicts],
        errors=[{**error, "platform": kept.named(str(error["platform"]))} for error in run.errors],
    )


def _opened(run: Gathered) -> dict[str, Any]:
    choices = run.opened.get("choices") or {}
    chosen = [run.durability.named(name) for name in choices.get("platforms") or []]
    return {**run.opened, **({"choices": {**choices, "platforms": chosen}} if chosen else {})}


def _plan(run: Gathered) -> Plan | None:
    if run.plan is None:
        return None
    trials = {
        run.durability.named(name): [_trial(run, trial) for trial in trials] for name, trials in run.plan.trials.items()
    }
    return replace(run.plan, trials=trials)


def _trial(run: Gathered, trial: Trial) -> Trial:
    kept = run.durability
    label = kept.label_of(trial.platform, trial.cell, trial.label)
    return replace(trial, platform=kept.named(trial.platform), label=label)


def _text(run: Gathered, text: str) -> str:
    """Of a verdict, which names platforms among its words."""
    names = "|".join(map(re.escape, run.durability.platforms))
    return re.sub(rf"\b({names})\b", lambda found: run.durability.named(found[0]), text) if names else text


# At the head of the page.


def durability_read(run: Gathered) -> str:
    """The settings that were read back, platforms alike as one, and of which platforms none were."""
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys([*run.databases, *run.durability.settings]):
        known = run.durability.settings.get(name) or {}
        values = ", ".join(f"{setting} {value}" for setting, value in known.items())
        alike.setdefault(values or "not known, nothing was read back", []).append(name)
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in alike.items())


def not_durable(run: Gathered) -> list[str]:
    """A sentence for each platform, and one for the cells that their own levels make so."""
    kept = run.durability
    said = [f"{platform} is {words}." for platform, words in kept.platforms.items()]
    cells: dict[str, int] = {}
    for found in kept.cells.values():
        for words in found.values():
            cells[words] = cells.get(words, 0) + 1
    return [*said, *(f"{plural(count, 'cell')} {_be(count)} {words}." for words, count in cells.items())]


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
