"""The papers' numbers beside the week's, a few lines an experiment. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperLine:
    """``ratio`` is ours to the paper's with its interval, or why there is none."""

    what: str
    ours: str
    paper: str
    ratio: str


@dataclass(frozen=True)
class Beside:
    """One experiment's. ``more`` lines were left out."""

    experiment: str
    title: str
    cluster: str
    lines: tuple[PaperLine, ...]
    more: int = 0
