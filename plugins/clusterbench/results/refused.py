"""Why two cells of a report are not compared. Pure."""

from __future__ import annotations

from clusterbench.results import utilisation
from clusterbench.results.durability import NOT_DURABLE
from clusterbench.results.statistics import Result


def refusal(ours: Result, first: Result) -> str:
    """Empty where they may be compared. A platform that is not durable has that in its name here: ``labels.py``."""
    if refused := not_durable(ours, first):
        return refused
    return utilisation.refusal(ours, first)


def not_durable(ours: Result, first: Result) -> str:
    """Where one of the two alone traded durability away."""
    traded = [each.platform for each in (ours, first) if NOT_DURABLE in each.platform]
    if len(traded) == 1:
        return f"not compared: {traded[0]} beside one that is durable"
    return ""
