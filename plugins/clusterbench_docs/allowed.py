"""What a key may hold, in words that people understand, from the type that checks it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from clusterbench.base.words import listed

LinkTo = Callable[[type[BaseModel]], str]
"""A model -> the Markdown link to the table of its keys."""
BOUNDS = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
MIXED = {
    frozenset({bool, int, float, str}): "a level",
    frozenset({int, float, str}): "a number or a text",
    frozenset({int, str}): "a number or a text",
    frozenset({int, float}): "a number",
}
"""Unions that read better as one than as their parts."""


def words_for(field: FieldInfo, link: LinkTo) -> str:
    """Raises LookupError if the type has no words: then its ``Field`` needs a ``description``."""
    return field.description or _words(field.annotation, field.metadata, link)


def _words(kind: Any, metadata: Iterable[Any], link: LinkTo) -> str:
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        written = next((each.description for each in more if isinstance(each, FieldInfo) and each.description), None)
        return written or _words(inner, [*metadata, *_flat(more)], link)
    if get_origin(kind) in (Union, types.UnionType):
        return _one_of(kind, link)
    if get_origin(kind) is Literal:
        return listed([f"`{choice}`" for choice in get_args(kind) if choice != ""], "or")
    return _container(kind, _limits(metadata), link) or _plain(kind, _limits(metadata), link)


def _flat(metadata: Iterable[Any]) -> list[Any]:
    return [inner for each in metadata for inner in (each.metadata if isinstance(each, FieldInfo) else [each])]


def _limits(metadata: Iterable[Any]) -> dict[str, Any]:
    found = {name: getattr(each, name, None) for each in metadata for name in BOUNDS if hasattr(each, name)}
    return {name: value for name, value in found.items() if value is not None}


def _one_of(kind: Any, link: LinkTo) -> str:
    parts = [part for part in get_args(kind) if part is not type(None)]
    if mixed := MIXED.get(frozenset(parts)) if all(isinstance(part, type) for part in parts) else None:
        return f"{mixed}, or `null`" if len(parts) < len(get_args(kind)) and mixed == "a number or a text" else mixed
    said = [_words(part, (), link) for part in parts]
    return listed(list(dict.fromkeys(each for each in said if each)), "or")


def _container(kind: Any, limits: dict[str, Any], link: LinkTo) -> str:
    arguments = get_args(kind)
    if get_origin(kind) is list:
        least, most = limits.get("min_length"), limits.get("max_length")
        return _list_of(_words(arguments[0], (), link), f" {least}" if least and least == most else "")
    if get_origin(kind) is dict:
        key, value = (_words(each, (), link) for each in arguments)
        return f"a mapping from {key} to {value}"
    return ""


def _list_of(each: str, many: str) -> str:
    """ "a list of names"; if there is no plural, "a list; each is `a` or `b`"."""
    if each == MIXED[frozenset({int, str})]:
        return f"a list of{many} numbers or texts"
    for noun in ("whole number", "number", "level", "text", "name"):
        if each.startswith(f"a {noun}") and "name of" not in each:
            return f"a list of{many} {noun}s{each.removeprefix(f'a {noun}')}"
    if each.startswith("keys as in"):
        return f"a list of {each}"
    return f"a list{f' of{many}' if many else ''}; each is {each}"


def _plain(kind: Any, limits: dict[str, Any], link: LinkTo) -> str:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return link(kind)
    if kind is bool:
        return "`true` or `false`"
    if kind is int or kind is float:
        return numbers(limits, "a whole number" if kind is int else "a number")
    if kind is str and "pattern" not in limits:
        return "a text"
    raise LookupError(f"nothing says in words what {kind} {limits} allows; write a description into its Field")


def numbers(limits: dict[str, Any], noun: str) -> str:
    """ "a whole number from 0 to 100", "a number above 0", "a whole number of at least 1"."""
    low, high = limits.get("ge"), limits.get("le")
    if low is not None and high is not None:
        return f"{noun} from {number(low)} to {number(high)}"
    above = (
        f"above {number(limits['gt'])}" if "gt" in limits else f"of at least {number(low)}" if low is not None else ""
    )
    below = f"below {number(limits['lt'])}" if "lt" in limits else f"at most {number(high)}" if high is not None else ""
    bounds = " and ".join(filter(None, [above, below]))
    return f"{noun} {bounds}".rstrip()


def number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
