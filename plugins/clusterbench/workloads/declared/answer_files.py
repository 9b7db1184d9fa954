"""What a statement must answer, as ``<statement>.answers.csv`` beside it says.

The first line names the columns: those that begin with ``$`` say for which values of parameters and factors a line is,
the others are the statement's own, in its order. ``\\N`` stands for NULL, as COPY writes it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from clusterbench.base.errors import SpecError, suggest
from clusterbench.workloads.declared.folder import Folder, placeholders_in
from clusterbench.workloads.declared.parameters import names_of

NULL = r"\N"
SIGN = "$"
Answer = list[list[str | None]]


def file_name(statement: str) -> str:
    return f"{statement}.answers.csv"


def answer(folder: Folder, statement: str, values: Mapping[str, str]) -> Answer | None:
    """Its rows, where the ``values`` of parameters and factors are these; None where no line is about them."""
    if not (folder.path / file_name(statement)).is_file():
        return None
    header, *lines = _lines(folder, statement)
    conditions = {at: values.get(name[1:], "") for at, name in enumerate(header) if name.startswith(SIGN)}
    chosen = [line for line in lines if all(_is_same(line[at], value) for at, value in conditions.items())]
    if conditions and not chosen:
        return None
    return [[_cell(line[at]) for at in range(len(header)) if at not in conditions] for line in chosen]


def problems(folder: Folder) -> Iterator[str]:
    """Of all files; each with the statement's field."""
    names = list(folder.said.statements)
    there = [name for name in names if (folder.path / file_name(name)).is_file()]
    if not there:
        yield f"answers: there is no file {file_name(names[0])} beside workload.yaml, nor one of another statement"
    for name in there:
        yield from (f"statements.{name}: {file_name(name)}: {problem}" for problem in _of_file(folder, name))


def _of_file(folder: Folder, statement: str) -> Iterator[str]:
    try:
        header, *lines = _lines(folder, statement)
    except SpecError as error:
        yield from error.problems
        return
    parameters = [each for key, one in folder.parameters_of(statement).items() for each in names_of(key, one)]
    placed = [name for name in folder.said.factors if name in placeholders_in(folder, statement)]
    needed = [*parameters, *dict.fromkeys([*placed, *folder.size_factors])]
    told = [name[1:] for name in header if name.startswith(SIGN)]
    known = [*needed, *folder.said.factors, "seed"]
    yield from (f"unknown column ${name}{suggest(name, known)}" for name in told if name not in known)
    for name in (name for name in needed if name not in told):
        yield f"has no column ${name}, on which the answer depends; add it, with the value that each line is for"
    if len(told) == len(header):
        yield "has no column of the answer itself"
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            yield f"line {number}: has {len(line)} cells, where the first line names {len(header)} columns"
            return


def _lines(folder: Folder, statement: str) -> list[list[str]]:
    """Raises SpecError where the file is empty."""
    found = [line for line in csv.reader(io.StringIO(folder.text(file_name(statement)))) if line]
    if not found:
        raise SpecError([f"{file_name(statement)} is empty; its first line must name the columns"])
    return found


def _cell(text: str) -> str | None:
    return None if text == NULL else text


def _is_same(cell: str, value: str) -> bool:
    if cell == value:
        return True
    try:
        return Decimal(cell) == Decimal(value)
    except InvalidOperation:
        return False
