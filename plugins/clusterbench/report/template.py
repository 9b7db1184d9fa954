"""Jinja, as every page here uses it: escaped, strict, with the words of ``words.py`` as filters."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterbench.base import words
from clusterbench.base.paths import built_in_root, project_root


def folders(*names: str) -> list[Path]:
    """Where templates of these folders of ``include`` are looked for; those of the own project first."""
    roots = dict.fromkeys((project_root(), built_in_root()))
    return [root / "include" / name for root in roots for name in names]


def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(folders("report")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": words.number,
        "interval": words.interval,
        "plain": words.plain,
        "size": words.size,
        "share": words.share,
        "moment": words.moment,
    }
    return made
