"""The first lines of a run's report: what the run answers, how sure that is, and what is not known.

Made of results and of the verdicts on their ratios that the rest of the report has, too. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.words import plural, shortened
from clusterbench.report.run.finding_cells import Cells, asked_of, cells_of, is_declared
from clusterbench.report.run.finding_loads import breakdowns, peak
from clusterbench.report.run.finding_words import key, other_statements, sentence
from clusterbench.report.run.labels import labelled
from clusterbench.report.run.sweeps import SweepView
from clusterbench.report.run.trust import is_one_machine
from clusterbench.results.between_runs import by_chance
from clusterbench.results.gather import Gathered, gather
from clusterbench.results.run_state import RunState
from clusterbench.results.statistics import REPETITIONS_MIN, Result, p_value_of_two
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.experiment import PLATFORM
from clusterbench.trial.rehearsal import notice, scale_of

SENTENCES_MAX = 5
REASON_CHARACTERS = 100
KEY = "findings.json"
"""Beside the report in the archive, for pages that must not read a whole run."""


@dataclass(frozen=True)
class Finding:
    """``sweep``: where the report has the tables of it."""

    sweep: str
    text: str


@dataclass(frozen=True)
class Findings:
    """``first`` stands before all: that the numbers must not be used. ``more``: sweeps that are not spoken of."""

    first: str
    found: tuple[Finding, ...]
    unknown: tuple[str, ...]
    sure: str
    more: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Findings:
        found = tuple(Finding(**one) for one in data["found"])
        return cls(data["first"], found, tuple(data["unknown"]), data["sure"], data.get("more", 0))

    @property
    def lines(self) -> list[str]:
        """As plain text, a line each."""
        unknown = [f"Not known: {one}" for one in self.unknown]
        return [*filter(None, [self.first]), *(one.text for one in self.found), *filter(None, [self.sure]), *unknown]


def findings_in(archive: RunArchive, catalog: Catalog) -> Findings:
    """As they were noted beside the report; of a run before that, or of versions without them, made now."""
    noted = archive.get_json(KEY)
    return Findings.from_json(noted) if noted else findings_of(gather(archive, catalog, []))


def findings_of(run: Gathered) -> Findings:
    """Of a run as it was gathered, with platforms under their own names."""
    named = labelled(run)
    return findings(named, SweepView.of_run(named))


def findings(run: Gathered, views: Sequence[SweepView]) -> Findings:
    said = _told(views)
    shown = said[:SENTENCES_MAX]
    more = {view.name for view in views} - {one.sweep for one in shown}
    unknown = _unknown(run) if run.results else []
    return Findings(_first(run), tuple(shown), tuple(unknown), _sure(run, shown), len(more) if shown else 0)


def _told(views: Sequence[SweepView]) -> list[Finding]:
    """Each sweep's first sentence before any sweep's second; declared ones before others; where it broke down first."""
    ordered = sorted(views, key=lambda view: not is_declared(view))
    chosen = sorted(_chosen(ordered), key=lambda pair: _place(pair[1]))
    looked_at = [cells for _, of_sweep in chosen for cells in of_sweep]
    doubted = _doubted(looked_at)
    broken = [Finding(view.name, text) for view in ordered for text in breakdowns(view, asked_of(view))]
    rows = [[Finding(view.name, _say(cells, doubted)) for cells in of_sweep] for view, of_sweep in chosen]
    return [*broken, *(one for row in zip_longest(*rows) for one in row if one is not None)]


def _chosen(views: Sequence[SweepView]) -> list[tuple[SweepView, list[Cells]]]:
    """Platforms are compared in the sweeps that declare it, or where none does in all."""
    none_declares = not any(asked_of(view).compare == PLATFORM for view in views)
    return [(view, cells_of(view, with_platforms=none_declares)) for view in views]


def _place(of_sweep: Sequence[Cells]) -> int:
    """Platforms first; last where there is nothing to compare with."""
    if not any(cells.others for cells in of_sweep):
        return 2
    return 0 if of_sweep[0].factor == PLATFORM else 1


def _say(cells: Cells, doubted: Mapping[str, int]) -> str:
    return peak(cells) or " ".join(filter(None, [sentence(cells, doubted), other_statements(cells)]))


def _doubted(looked_at: Sequence[Cells]) -> dict[str, int]:
    """Cells that differ, but of so many some do by chance (Benjamini and Hochberg), as in every comparison here."""
    pairs = [(cells, other) for cells in looked_at for other in cells.others]
    p_values = {}
    for place, (cells, other) in enumerate(pairs):
        sides = (each.measurements[cells.measurement] for each in (other, cells.base))
        if (p := p_value_of_two(*sides)) is not None:
            p_values[place] = p
    return {key(pairs[place][1]): len(p_values) for place in by_chance(p_values)}


# What stands around it.


def _first(run: Gathered) -> str:
    if run.state is RunState.NOT_VALID:
        return "This run is not valid: a critical check failed, so nothing must be concluded from these numbers."
    if run.state is RunState.INCOMPLETE:
        return "This run was not judged: it did not complete, or not yet. Its numbers are preliminary."
    return ""


def _sure(run: Gathered, shown: Sequence[Finding]) -> str:
    """What an interval of one run is worth."""
    if not shown or not any(_has_interval(result) for result in run.results):
        return ""
    return (
        "The intervals come from the repetitions within this one run; what differs from one run to the next is not in "
        "them."
    )


def _has_interval(result: Result) -> bool:
    return any(summary.interval_95 for summary in result.measurements.values())


def _unknown(run: Gathered) -> list[str]:
    """What must be known before anything above is used, and what could not be measured."""
    said = []
    if scale_of(run.opened.get("choices") or {}) == "smoke":
        said.append("Scale smoke checks that every step works. Its numbers say nothing about a system.")
    if notice(run.opened.get("choices") or {}):
        said.append("This is a rehearsal with smaller data. Its figures are not those of full scale.")
    if is_one_machine(run):
        said.append(
            "All hosts are one machine. The figures prove that the pipeline works; they say nothing about a platform."
        )
    return [*said, *_without_number(run), *_with_few(run)]


def _without_number(run: Gathered) -> list[str]:
    """Levels at which a platform broke down are findings, and told as such."""
    empty = [result for result in run.results if not result.completed and not result.was_given_up]
    if not empty:
        return []
    counted = f"{len(empty)} of {plural(len(run.results), 'cell')} {'has' if len(empty) == 1 else 'have'} no number"
    reasons = list(dict.fromkeys(next(iter(result.reasons), "not run") for result in empty))
    first = next(result for result in empty if next(iter(result.reasons), "not run") == reasons[0])
    rest = f", and {plural(len(reasons) - 1, 'other reason')}" if reasons[1:] else ""
    return [f"{counted} ({first.label}: {shortened(' '.join(reasons[0].split()), REASON_CHARACTERS)}{rest})."]


def _with_few(run: Gathered) -> list[str]:
    few = [result for result in run.results if 0 < result.completed < REPETITIONS_MIN]
    if not few:
        return []
    whose = f"All {len(few)} cells" if len(few) == len(run.results) and len(few) > 1 else plural(len(few), "cell")
    has, its = ("has", "its") if len(few) == 1 else ("have", "their")
    return [
        f"{whose} {has} fewer than {REPETITIONS_MIN} completed repetitions: how far {its} numbers vary is not known."
    ]
