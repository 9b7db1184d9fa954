"""From a YAML file to a typed model, or to one line per problem that names file, line, field and remedy."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from clusterbench.base.errors import SpecError, suggest

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Safe both; the one in C is ten times as fast, and DAGs are parsed often."""

FieldPath = tuple[str | int, ...]

WORDS = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text (in quotes if YAML would read something else)",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
"""Pydantic's types of problems in plain words; others speak for themselves."""
EMPTY = {"too_short": "name at least one", "string_too_short": "write a text"}


class Strict(BaseModel):
    """Base of every declared thing: no unknown key, no silent conversion ("3" is not 3), immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Model = TypeVar("Model", bound=Strict)


def load(path: Path, model: type[Model]) -> Model:
    """Read ``path`` as ``model``. Raises SpecError with every problem in the file, not only the first."""
    return cast("Model", _model_of(path, _text_of(path), model))


@lru_cache(maxsize=1024)  # each task's process reads the DAGs anew, and is forked from one that has read these files
def _model_of(path: Path, text: str, model: type[Strict]) -> Strict:
    data, lines = _read(path, text)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        described = [describe(problem, path, lines, model) for problem in error.errors()]
        raise SpecError(list(dict.fromkeys(described))) from None


def read_yaml(path: Path) -> tuple[Any, dict[FieldPath, int]]:
    """Data of a YAML file and the line of every field in it; a key written twice is an error."""
    return _read(path, _text_of(path))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}; check the name and the permissions"]) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SpecError([f"{path}:{line}: is not UTF-8 text; save it as UTF-8"]) from None


def _read(path: Path, text: str) -> tuple[Any, dict[FieldPath, int]]:
    lines: dict[FieldPath, int] = {}
    try:
        data = _data_of(path, text, lines)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SpecError([f"{where}: is not YAML: {problem}; check the indentation and the quotes there"]) from None
    except RecursionError:
        raise SpecError([f"{path}: an anchor (&) holds itself, or is nested too deep; write it out"]) from None
    except ValueError as error:
        raise SpecError(
            [f"{path}: a value cannot be read: {error}; a text that looks like a date needs quotes"]
        ) from None
    if not isinstance(data, dict):
        found = {type(None): "nothing", list: "a list"}.get(type(data), "a text")
        raise SpecError([f"{path}:1: must be a mapping of keys to values, found {found}"])
    return data, lines


def _data_of(path: Path, text: str, lines: dict[FieldPath, int]) -> Any:
    """What ``yaml.load`` gives; the lines are noted of the same nodes, as parsing is most of the time."""
    loader = LOADER(text)
    try:
        node = loader.get_single_node()
        _note_lines(path, node, (), lines)
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def _note_lines(path: Path, node: yaml.Node | None, at: FieldPath, lines: dict[FieldPath, int]) -> None:
    if node is None:
        return
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in seen:
                raise SpecError([f"{path}:{line}: key {key!r} stands twice, first in line {seen[key]}; keep one"])
            seen[key] = line
            lines[(*at, key)] = line
            _note_lines(path, value_node, (*at, key), lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(path, item, (*at, index), lines)


def describe(problem: ErrorDetails, path: Path, lines: dict[FieldPath, int], model: type[BaseModel]) -> str:
    """One pydantic problem as a sentence: file:line: field: what was found, what is allowed, what to do."""
    location = tuple(part for part in problem["loc"] if not _is_union_tag(part))
    where = f"{path}:{_line_of(location, lines)}"
    field = ".".join(str(part) for part in location) or "the file"
    if problem["type"] == "extra_forbidden":
        return f"{where}: {field}: unknown key{suggest(str(location[-1]), _keys_allowed(location, model))}"
    if problem["type"] == "missing":
        return f"{where}: {field}: is missing; add it"
    return f"{where}: {field}: {say(problem)}"


def say(problem: ErrorDetails) -> str:
    """What is wrong with a value, what was found and what is allowed; the field is for the caller to name."""
    found = problem["input"]
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    if problem["type"] == "literal_error":
        allowed = re.findall("'([^']*)'", problem["ctx"]["expected"])
        return f"{found!r} is not allowed{suggest(str(found), allowed)}"
    if problem["type"] in EMPTY:
        return f"is empty; {EMPTY[problem['type']]}"
    said = WORDS.get(problem["type"]) or problem["msg"].replace("Input should be", "must be")
    return f"{said}, found {found!r}"


def located(path: Path, problem: str) -> str:
    """``problem``, which begins with the dotted field it is about, behind the file and the line of that field."""
    _, lines = read_yaml(path)
    field = problem.split(":", 1)[0].split(".")
    location = tuple(int(part) if part.isdigit() else part for part in field)
    return f"{path}:{_line_of(location, lines)}: {problem}"


def _is_union_tag(part: str | int) -> bool:
    return isinstance(part, str) and (
        "[" in part or part.startswith("constrained-") or part in {"int", "str", "bool", "float", "none"}
    )


def _line_of(location: FieldPath, lines: dict[FieldPath, int]) -> int:
    while location and location not in lines:
        location = location[:-1]
    return lines.get(location, 1)


def _keys_allowed(location: FieldPath, model: type[BaseModel]) -> list[str]:
    """Keys of the model in which the last part of ``location`` is unknown."""
    current: Any = model
    for part in location[:-1]:
        if isinstance(current, type) and issubclass(current, BaseModel) and part in current.model_fields:
            current = current.model_fields[str(part)].annotation
        current = _model_inside(current) or current
    inside = _model_inside(current)
    return [field.alias or name for name, field in inside.model_fields.items()] if inside else []


def _model_inside(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if inside := _model_inside(argument):
            return inside
    return None
