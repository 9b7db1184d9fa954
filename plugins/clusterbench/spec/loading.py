"""From a YAML file to a typed model, or to one line per problem that names file, line, field and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from clusterbench.errors import SpecError, suggest

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Safe both; the one in C is ten times as fast, and DAGs are parsed often."""

FieldPath = tuple[str | int, ...]


class Strict(BaseModel):
    """Base of every declared thing: no unknown key, no silent conversion ("3" is not 3), immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Model = TypeVar("Model", bound=Strict)


def load(path: Path, model: type[Model]) -> Model:
    """Read ``path`` as ``model``. Raises SpecError with every problem in the file, not only the first."""
    data, lines = read_yaml(path)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecError([describe(problem, path, lines, model) for problem in error.errors()]) from None


def read_yaml(path: Path) -> tuple[Any, dict[FieldPath, int]]:
    """Data of a YAML file and the line of every field in it; a key written twice is an error."""
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=LOADER)
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}; check the name and the permissions"]) from None
    except UnicodeDecodeError as error:
        raise SpecError([f"{path}: is not UTF-8 text (byte {error.start}); save it as UTF-8"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise SpecError([f"{where}: is not YAML: {problem}; mend the indentation or the quotes there"]) from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(
            [f"{path}: must be a mapping of keys to values, found {'nothing' if node is None else 'a list or a text'}"]
        )
    lines: dict[FieldPath, int] = {}
    _note_lines(path, node, (), lines)
    return yaml.load(text, Loader=LOADER), lines  # noqa: S506  it is a safe loader


def _note_lines(path: Path, node: yaml.Node, at: FieldPath, lines: dict[FieldPath, int]) -> None:
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
    found = problem["input"]
    if problem["type"] == "extra_forbidden":
        return f"{where}: {field}: unknown key{suggest(str(location[-1]), _keys_allowed(location, model))}"
    if problem["type"] == "missing":
        return f"{where}: {field}: is missing; add it"
    if problem["type"] == "value_error":
        return f"{where}: {field}: {problem['ctx']['error']}"
    return f"{where}: {field}: {problem['msg']}, found {found!r}"


def _is_union_tag(part: str | int) -> bool:
    return isinstance(part, str) and ("[" in part or part in {"int", "str", "bool", "float", "none"})


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
