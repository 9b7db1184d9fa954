"""Cells whose load was raised to a share of the processors, and whether two of them may be compared. Pure.

Throughputs of different utilisations are not compared: one of them may need more of the machine for the same work.
"""

from __future__ import annotations

from clusterbench.results.statistics import Result

TARGET = "cpu_percent"
"""The factor, and the measurement."""
THROUGHPUT, PER_CPU_SECOND = "throughput_per_s", "transactions_per_cpu_s"
POINTS_MAX = 3.0


def is_at_utilisation(result: Result) -> bool:
    """Whether its load was raised to a share of the processors."""
    return float(result.levels.get(TARGET) or 0) > 0


def refusal(ours: Result, first: Result) -> str:
    """Why two cells at one declared utilisation are not compared; empty where they may be, or are no such cells."""
    if not is_at_utilisation(ours):
        return ""
    found = [(result.platform, result.measurements.get(TARGET)) for result in (ours, first)]
    if unknown := [platform for platform, summary in found if summary is None]:
        return f"not compared: the CPU utilisation of {' and '.join(unknown)} is not known"
    percents = [summary.median for _, summary in found if summary]
    if abs(percents[0] - percents[1]) <= POINTS_MAX:
        return ""
    said = " and ".join(
        f"{percent:.1f} % on {platform}" for percent, (platform, _) in zip(percents, found, strict=True)
    )
    return f"not compared: the CPU utilisations, {said}, are more than {POINTS_MAX:g} points apart"
