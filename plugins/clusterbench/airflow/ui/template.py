"""Data -> a page: Jinja with the templates of ``include/ui``, and the style and script that all pages share."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from clusterbench.base import words
from clusterbench.base.paths import project_root
from clusterbench.report import addresses, template
from clusterbench.spec.project import here

STYLE, SCRIPT = "ui.css.j2", "ui.js"


def environment() -> Environment:
    return _environment(project_root())


@cache
def _environment(_root: Path) -> Environment:
    made = template.environment()
    made.loader = FileSystemLoader(template.folders("ui", "report"))
    made.filters |= {"day": day, "minute": minute, "plural": words.plural, "count": words.count}
    made.filters |= {"sentence": sentence, "digits": digits, "percent": partial(words.percent, is_signed=True)}
    made.globals["to"] = addresses
    return made


def asset(name: str) -> tuple[str, str]:
    """Text of the style or the script, and a few letters that change with it."""
    return _asset(project_root(), name)


@cache
def _asset(_root: Path, name: str) -> tuple[str, str]:
    text = environment().get_template(name).render()
    return text, hashlib.sha256(text.encode()).hexdigest()[:10]


def render(name: str, root: str, airflow_root: str, **values: Any) -> str:
    """``root``: path of these pages; ``airflow_root``: that of Airflow itself."""
    assets = {"style": asset(STYLE)[1], "script": asset(SCRIPT)[1]}
    project = here()
    named = project.project if project else ""
    return (
        environment().get_template(name).render(root=root, airflow=airflow_root, assets=assets, project=named, **values)
    )


def sentence(text: str) -> str:
    """Its first letter large, where it begins with a word: names and addresses stay as they are."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].rstrip(":,;").isalpha() else text


def digits(value: float | None) -> str:
    """Four significant: a change of a percent is seen."""
    return words.number(value, 4)


def day(when: datetime | None) -> str:
    return f"{when.day} {when:%b %Y}" if when else words.ABSENT


def minute(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else words.ABSENT
