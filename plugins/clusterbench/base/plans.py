"""Plans of statements, as PostgreSQL's family prints them: when two are the same, and where they first differ. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

DIGITS = 16
"""Of a fingerprint, hexadecimal."""
ESTIMATES = re.compile(r"\s*\(cost=[^)]*\)")
VALUES = re.compile(r"'(?:[^']|'')*'|(?<![\w$.])\d+(?:\.\d+)?(?![\w.])")
"""Texts and numbers: they are parameters, which another seed or repetition draws."""
TEMPORARY = re.compile(r"\bpg_temp_\d+\b|\bpg_toast_temp_\d+\b")
CONDITION = re.compile(
    r"^(\s*(?:->\s*)?(?:[A-Z][\w ]*)?(?:Cond|Filter|Key|Output|Expression|Predicate)(?: \([^)]*\))?:)(.*)$"
)
"""A line whose values are parameters; elsewhere numbers are of the plan itself, such as how many workers it has."""


@dataclass(frozen=True)
class Prepared:
    """A statement with $1, $2, and what several executions give for them, of which the last one's plan is wanted."""

    text: str
    executions: Sequence[Sequence[int]]


PLANNED = "clusterbench_planned"
"""The name under which a server is asked for the plan of what clients prepare."""
NO_PLAN = "no plan: "
"""How the text begins in place of a plan that the server refused."""


@dataclass(frozen=True)
class PlanChange:
    """A statement whose plan is another one. ``before`` and ``after``: the first lines that differ, without estimates;
    empty where that plan had ended."""

    statement: str
    before: str
    after: str

    def __str__(self) -> str:
        said = f"the plan of {self.statement} changed"
        if self.before and self.after:
            return f"{said}: {self.before} -> {self.after}"
        if self.after:
            return f"{said}: it has new lines at its end, the first is '{self.after}'"
        return f"{said}: it has no longer its last lines, the first was '{self.before}'" if self.before else said


def normalised(plan: str) -> list[str]:
    """Its lines without costs, estimated rows, parameters, and names that only one session had."""
    lines = []
    for line in plan.splitlines():
        bare = TEMPORARY.sub("pg_temp", ESTIMATES.sub("", line)).rstrip()
        if found := CONDITION.match(bare):
            bare = found[1] + VALUES.sub("?", found[2])
        lines.append(bare)
    return lines


def fingerprint(plan: str) -> str:
    """The same for plans that differ in estimates and parameters only."""
    return hashlib.sha256("\n".join(normalised(plan)).encode()).hexdigest()[:DIGITS]


def first_difference(before: str, after: str) -> tuple[str, str]:
    """The first lines that differ, without estimates and indentation; two empty ones where none does."""
    for one, other in zip_longest(normalised(before), normalised(after), fillvalue=""):
        if one != other:
            return one.strip().removeprefix("->").strip(), other.strip().removeprefix("->").strip()
    return "", ""


def changes(before: Mapping[str, str], after: Mapping[str, str], texts: Mapping[str, str]) -> list[PlanChange]:
    """Of statements that both sides have: name -> fingerprint. ``texts``: fingerprint -> a plan."""
    return [
        PlanChange(name, *first_difference(texts.get(before[name], ""), texts.get(after[name], "")))
        for name in before
        if name in after and before[name] != after[name]
    ]
