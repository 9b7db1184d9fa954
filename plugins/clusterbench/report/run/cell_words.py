"""What a table says of one cell: how it ended, why it has no number, and its ratio to another one's. Pure."""

from __future__ import annotations

from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import named_counts, ratio_words
from clusterbench.results.beside_paper import median_beside
from clusterbench.results.judgement import compare_two
from clusterbench.results.statistics import Result, Summary
from clusterbench.spec import PublishedValue


def state_of(result: Result) -> str:
    """completed, partial, not_applicable, not_run, or failed: what colours a line, and what the words say."""
    if result.completed == result.planned:
        return "completed"
    if result.completed:
        return "partial"
    if result.was_given_up:
        return "failed"
    for state in ("not_applicable", "not_run"):
        if set(result.outcomes) == {state}:
            return state
    return "failed"


def answer(result: Result) -> str:
    """Why there is no number, which is an answer too."""
    why = "; ".join(result.reasons)
    state = state_of(result)
    if state in ("not_applicable", "not_run"):
        said = state.replace("_", " ")
    elif state == "completed":
        said = "not measured"
    elif set(result.outcomes) == {"not_applicable"}:
        said = "x"
    else:
        said = named_counts({name: count for name, count in result.outcomes.items() if name != "completed"})
    return f"{said}: {why}" if why else said


def ratio_text(ours: Summary | None, reference: Summary | None, kind: MeasurementKind) -> str:
    """ "1.06× (1.02 – 1.09), slower": a ratio never stands without its interval and a word."""
    ratio, judged = compare_two(ours, reference, kind.better)
    return f"{ratio_words(ratio)}, {judged.word}" if ratio else ""


def paper_text(value: PublishedValue, ours: Summary | None, kind: MeasurementKind) -> str:
    """Ours over the paper's: "ours 0.02× (0.01 – 0.03), faster"; nothing where there is no number."""
    if ours is None:
        return ""
    ratio, judged = median_beside(value, ours.values, ours.unit, kind.better)
    said = judged.word if ratio[1] is None or judged.word != "not comparable" else judged.says
    return f"ours {ratio_words(ratio)}, {said}"
