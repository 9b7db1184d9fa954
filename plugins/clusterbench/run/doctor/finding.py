"""What was looked at, whether it will do, and what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from clusterbench.base.words import some_of

Verdict = Literal["good", "look", "bad"]
"""``look``: it works, and somebody should know. ``bad``: a run would fail, or its numbers would be wrong."""
ORDER: tuple[Verdict, ...] = ("bad", "look", "good")


@dataclass(frozen=True)
class Finding:
    """One line. ``where`` is a host, ``database`` or ``archive``; ``remedy`` is empty where all is well."""

    what: str
    where: str
    found: str
    verdict: Verdict = "good"
    remedy: str = ""


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """Those of several hosts that are alike as one; what is bad comes first."""
    alike: dict[Finding, list[str]] = {}
    for one in findings:
        alike.setdefault(replace(one, where=""), []).append(one.where)
    lines = [replace(one, where=some_of(list(dict.fromkeys(where)))) for one, where in alike.items()]
    return sorted(lines, key=lambda one: ORDER.index(one.verdict))
