"""Tables of keys, made from the models that check the YAML files, and of the factors of each workload.

What a key is for is the string below its field. It is read from the source, and not by pydantic: DAG files are parsed
often, and need no descriptions.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clusterbench.base.factors import Factor, Level
from clusterbench.base.words import listed
from clusterbench.spec.by_name import workload_names
from clusterbench.workloads import load_workload
from clusterbench_docs.allowed import number, numbers, words_for
from clusterbench_docs.blocks import BEGIN, Kinds, outside_code, slug, table

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = re.compile(r"docs/(?P<page>[\w/]+\.md)(?:#(?P<anchor>[\w-]+))?")
"""How a docstring names a page, or a section of one."""


def keys(argument: str) -> str:
    """The table of the keys of a model, or of a dict from keys to what they are for."""
    page = place_of("keys", argument)[0]
    found = _named(argument)
    if isinstance(found, Mapping):
        return table(("key", "what it is for"), [(f"`{key}`", markdown(text, page)) for key, text in found.items()])
    return table(("key", "allowed", "default", "what it is for"), [*_rows(found, page)])


def _rows(model: type[BaseModel], page: str) -> list[tuple[str, ...]]:
    said = descriptions(model)
    rows: list[tuple[str, ...]] = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        if name not in said:
            raise LookupError(f"{key}: nothing says what it is for; write it below the field")
        allowed = words_for(field, lambda inner: _link_to_keys(inner, page))
        rows.append((f"`{key}`", markdown(allowed, page), _default(field), markdown(said[name], page)))
    return rows


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if isinstance(default, BaseModel):
        return "the defaults of its keys"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if default is None or default in ("", [], {}):
        return "none"
    return number(default) if isinstance(default, int | float) else f"`{default}`"


def factors(argument: str) -> str:
    """The table of a workload's factors; of several workloads if all have the same."""
    page = place_of("factors", argument)[0]
    for name in argument.split():
        if name not in workload_names():
            raise LookupError(f"there is no workload {name!r}")
    first, *others = ({**load_workload(name).factors} for name in argument.split())
    if any(other != first for other in others):
        raise LookupError("these workloads have different factors; give each a block of its own")
    rows: list[tuple[str, ...]] = [
        (f"`{name}`", _levels(factor), _level(factor.default), markdown(factor.help, page))
        for name, factor in first.items()
    ]
    return table(("factor", "levels", "default", "what it is for"), rows)


def _levels(factor: Factor) -> str:
    if factor.choices:
        return listed([f"`{choice}`" for choice in factor.choices], "or")
    noun = "a number" if factor.is_fractional else "a whole number"
    return numbers({"ge": factor.minimum, "le": factor.maximum}, noun)


def _level(level: Level) -> str:
    return f"`{level}`" if isinstance(level, str) else str(level)


def words(argument: str) -> str:
    """The table of words that a list may hold, from a dict that says what each allows."""
    page = place_of("words", argument)[0]
    rows: list[tuple[str, ...]] = [(f"`{word}`", markdown(text, page)) for word, text in _named(argument).items()]
    return table(("word", "what it allows"), rows)


KINDS: Kinds = {"keys": keys, "factors": factors, "words": words}


@cache
def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Field -> the string below it, in one line; of the classes that the model is made from, too."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            (body,) = ast.parse(inspect.getsource(each)).body
            assert isinstance(body, ast.ClassDef)
            found |= _below_fields(body)
    return found


def _below_fields(body: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = getattr(below.value, "value", None)
            if isinstance(text, str):
                found[field.target.id] = " ".join(text.split())
    return found


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise LookupError("there is no such model") from None


def path_of(model: type[BaseModel]) -> str:
    """As a marker names it."""
    return f"{model.__module__}.{model.__name__}"


def _link_to_keys(model: type[BaseModel], page: str) -> str:
    where, title = place_of("keys", path_of(model))
    return f"keys as in {_link(title, where, slug(title), page)}"


@cache
def places() -> dict[tuple[str, str], tuple[str, str]]:
    """Kind and argument of each block -> its page below ``docs``, and the heading that it stands under."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for file in sorted(DOCS.rglob("*.md")):
        heading = ""
        for line in outside_code(file.read_text(encoding="utf-8")):
            if line.startswith("#"):
                heading = line.lstrip("#").strip()
            elif marker := BEGIN.fullmatch(line.strip()):
                found[marker["kind"], marker["argument"] or ""] = (str(file.relative_to(DOCS)), heading)
    return found


def place_of(kind: str, argument: str) -> tuple[str, str]:
    if (kind, argument) not in places():
        raise LookupError(f"no page has a block '{kind} {argument}'")
    return places()[kind, argument]


def markdown(text: str, page: str) -> str:
    """A sentence of the code, for that page: ``docs/operate.md#outages`` in it becomes a link."""

    def linked(found: re.Match[str]) -> str:
        return _link(_title(found["page"], found["anchor"]), found["page"], found["anchor"], page)

    return REFERENCE.sub(linked, text.replace("``", "`"))


@cache
def _title(page: str, anchor: str | None) -> str:
    """What the heading says; if it is not there, the anchor's own words, and a test finds the broken link."""
    file = DOCS / page
    lines = outside_code(file.read_text(encoding="utf-8")) if file.is_file() else []
    headings = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    found = [heading for heading in headings if anchor is None or slug(heading) == anchor]
    return found[0].replace("`", "") if found else (anchor or page).replace("-", " ")


def _link(title: str, to: str, anchor: str | None, page: str) -> str:
    up = "../" * page.count("/")
    where = "" if to == page and anchor else f"{up}{to}"
    return f"[{title.replace('`', '')}]({where}{f'#{anchor}' if anchor else ''})"
