"""A workload's folder: its YAML and the files beside it. ``problems.py`` says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from string import Formatter, Template

from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.sql import Dialect, Value, filled
from clusterbench.spec.loading import load
from clusterbench.workloads.declared import sql_text
from clusterbench.workloads.declared.model import (
    DeclaredTable,
    Parameter,
    WorkloadFile,
    factor_in,
    quantity,
)
from clusterbench.workloads.declared.parameters import names_of

FILE_BYTES_MAX = 1_000_000
"""Of SQL, lists and suites: they are sent to hosts with every trial."""


@dataclass(frozen=True, eq=False)
class Folder:
    """``include/sql/<name>``, as its ``workload.yaml`` says it."""

    path: Path
    said: WorkloadFile

    @property
    def name(self) -> str:
        return self.said.workload

    @property
    def by_clients(self) -> bool:
        return self.said.driven_by == "clients"

    @property
    def titles(self) -> dict[str, str]:
        """Statement -> what a reader calls it."""
        return {name: said.title or name.replace("_", " ") for name, said in self.said.statements.items()}

    def text(self, name: str) -> str:
        """Of a file in the folder. Raises SpecError where it is none, or not one that is kept here."""
        file = self.path / name
        if not file.is_file():
            known = sorted(each.name for each in self.path.iterdir() if each.is_file() and each.suffix != ".yaml")
            raise SpecError([f"there is no file {name!r} beside workload.yaml{suggest(name, known)}"])
        if self.path.resolve() not in file.resolve().parents:
            raise SpecError([f"{name!r} leads out of the workload's folder; put the file itself there"])
        if (size := file.stat().st_size) > FILE_BYTES_MAX:
            raise SpecError([f"{name!r} has {size:,} bytes; {FILE_BYTES_MAX:,} are allowed"])
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SpecError([f"{name!r} is not UTF-8 text; save it as UTF-8"]) from None

    def statement_text(self, name: str, dialect: Dialect | str) -> str:
        """As it is written for the dialect, or else for all."""
        own = f"{name}.{dialect}.sql"
        return self.text(own if (self.path / own).is_file() else f"{name}.sql")

    def statements(self, name: str, dialect: Dialect | str, values: Mapping[str, Value]) -> list[str]:
        """The file's, with what its placeholders stand for put in; looked at once more, as they may end a quote."""
        texts = sql_text.statements(self.statement_text(name, dialect))
        return [sql_text.only(filled(each, values)) for each in texts]

    def only_statement(self, name: str, values: Mapping[str, Value]) -> str:
        """Of a file that holds one, such as the rows of a table."""
        return filled(sql_text.only(self.text(name)), values)

    def parameters_of(self, statement: str) -> dict[str, Parameter]:
        """Those that the statement names, and those of which they are made: in the order in which they stand."""
        known = {**self.said.parameters, **self.said.statements[statement].parameters}
        wanted = placeholders_in(self, statement)
        needed: set[str] = set()
        for name in reversed(known):
            if wanted & set(names_of(name, known[name])) or name in needed:
                needed |= {name, *uses(known[name])}
        return {name: known[name] for name in known if name in needed}

    @cached_property
    def every_parameter(self) -> list[Parameter]:
        """Of all statements, and of each alone."""
        return [one for place in self._places for one in place.values()]

    @property
    def _places(self) -> list[dict[str, Parameter]]:
        return [self.said.parameters, *(one.parameters for one in self.said.statements.values())]

    @property
    def queried(self) -> list[tuple[Parameter, list[Parameter]]]:
        """Those with a query, each with those that are other columns of its rows."""
        return [
            (one, [other for other in place.values() if other.row_of == name and other.column])
            for place in self._places
            for name, one in place.items()
            if one.query
        ]

    def lines(self, name: str) -> list[str]:
        """Of a list of values."""
        return [line for line in self.text(name).splitlines() if line.strip()]

    @cached_property
    def made(self) -> dict[str, DeclaredTable]:
        """Tables that clusterbench makes, by name."""
        return {name: table for name, table in self.said.tables.items() if not table.existing}

    @cached_property
    def existing(self) -> list[str]:
        """Tables that are there, as the server calls them."""
        return [table.existing for table in self.said.tables.values() if table.existing]

    @cached_property
    def is_reading(self) -> bool:
        """Whether no statement changes a row, as far as its words tell."""
        return self.only_reads and self._reads(self.text(name) for name in self.said.before_trial)

    @cached_property
    def only_reads(self) -> bool:
        """The same of those that are measured alone."""
        return self._reads(self.text(file.name) for name in self.said.statements for file in self.files_of(name))

    @staticmethod
    def _reads(texts: Iterable[str]) -> bool:
        return all(
            sql_text.is_reading(one) or sql_text.is_framing(one) for text in texts for one in sql_text.statements(text)
        )

    @cached_property
    def size_factors(self) -> list[str]:
        """Factors by which tables grow: another level needs other data."""
        named = [factor_in(table.rows) for table in self.made.values() if table.rows is not None]
        sizes = [name for name, factor in self.said.factors.items() if factor.is_size]
        return list(dict.fromkeys([*sizes, *filter(None, named)]))

    def files_of(self, statement: str) -> list[Path]:
        own = sorted(self.path.glob(f"{statement}.*.sql"))
        return own + [file for file in [self.path / f"{statement}.sql"] if file.is_file()]


def read(path: Path) -> Folder:
    """``path``: of its ``workload.yaml``. Raises SpecError where it does not read as one."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=100)
def _read(path: Path, changed_at: int) -> Folder:  # noqa: ARG001  another text is read again
    return Folder(path.parent, load(path, WorkloadFile))


def uses(parameter: Parameter) -> list[str]:
    """Names of the parameters that this one is made of."""
    if parameter.text is not None:
        return [name for _, name, _, _ in Formatter().parse(parameter.text) if name]
    return [*(parameter.lookup or ()), *(name for name in (parameter.newest_of, parameter.row_of) if name)]


def placeholders_in(folder: Folder, statement: str) -> set[str]:
    """In its files, of whatever dialect."""
    texts = [folder.text(file.name) for file in folder.files_of(statement)]
    return {name for text in texts for name in Template(text).get_identifiers()}


def rows_of(table: DeclaredTable, levels: Mapping[str, bool | int | float | str]) -> int:
    return max(0, quantity(table.rows or 0, levels))
