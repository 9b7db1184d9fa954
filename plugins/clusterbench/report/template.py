"""Jinja, as every page here uses it: escaped, strict, with the words of ``words.py`` as filters."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clusterbench.base import words
from clusterbench.base.paths import project_root


def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(project_root() / "include" / "report"),
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
