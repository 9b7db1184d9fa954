"""A part that a deployment has, or lacks, among others of its kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """``remedy`` is empty where nothing is to be done about it."""

    what: str
    found: str
    remedy: str = ""
