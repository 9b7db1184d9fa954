"""What is wrong with a workload's folder, as far as it can be known without a server: one line each, with its field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template

from clusterbench.base.errors import SpecError, suggest
from clusterbench.spec.by_name import workload_folders, workload_names
from clusterbench.spec.loading import located
from clusterbench.workloads.declared import answer_files, sql_text
from clusterbench.workloads.declared.folder import Folder, read, uses
from clusterbench.workloads.declared.model import DeclaredFactor, DeclaredStatement, Parameter, factor_in
from clusterbench.workloads.declared.parameters import VARIABLE, names_of

OF_CLIENTS = ("next_after", "newest_of")
RESERVED = {"clients", "client_id", "first_client", "scale", "random_seed", "default_seed", "ids", "seed"}
"""Names that pgbench and the SELECTs of rows have for themselves."""
MEASURED = {"all", "latency", "throughput", "retries", "response", "response_time", "statement_time", "driver_cpu"}
"""Statements of these names would have measurements that drivers have already; ``all`` are all of them."""


def check_names(folder: Folder) -> None:
    """Raises SpecError with what is wrong within the YAML: names that are not there, and what does not fit together."""
    _raise(folder, list(_of_others(folder)))
    _raise(folder, [*_of_whole(folder), *_of_factors(folder), *_of_tables(folder), *_of_parameters(folder)])


def check(folder: Folder) -> None:
    """Raises SpecError with every problem, also of the files beside it, each with the field that names the file."""
    check_names(folder)
    of_answers = answer_files.problems(folder) if folder.said.answers == "file" else []
    _raise(folder, [*_of_statements(folder), *_of_rows(folder), *_of_files(folder), *of_answers])


def _raise(folder: Folder, problems: Sequence[str]) -> None:
    if problems:
        path = folder.path / "workload.yaml"
        raise SpecError([located(path, problem) for problem in dict.fromkeys(problems)])


# Of the YAML itself.


def _of_whole(folder: Folder) -> Iterator[str]:
    said = folder.said
    if said.workload != folder.path.name:
        yield (
            f"workload: the name {said.workload!r} differs from the folder's; write {folder.path.name!r}, or rename "
            f"the folder to {said.workload}"
        )
    known = list(said.statements)
    named = [(f"mixes.{mix}", list(weights)) for mix, weights in said.mixes.items()]
    named += [(f"orders.{number}", list(order)) for number, order in enumerate(said.orders)]
    for where, names in named:
        yield from (f"{where}: unknown statement {n!r}{suggest(n, known)}" for n in names if n not in known)
    for key, is_meant in (("mixes", folder.by_clients), ("orders", not folder.by_clients)):
        if getattr(said, key) and not is_meant:
            yield f"{key}: workloads that are driven by {said.driven_by!r} have none; take it out"
    yield from (f"statements.{n}: the name is taken; choose another" for n in known if n in MEASURED)
    if said.answers in {"duckdb", "file"} and any(one.query for one in folder.every_parameter):
        who = "DuckDB cannot be asked" if said.answers == "duckdb" else "a file cannot know"
        yield f"answers: {who} what a parameter's 'query' answers; write 'earlier' or 'none'"
    if said.answers == "duckdb" and (folder.existing or any(t.loaded_from for t in folder.made.values())):
        yield (
            "answers: 'duckdb' needs rows that can be generated again, but some exist already or come from files; "
            "write 'earlier' if they stay as they are, or 'none'"
        )


def _of_others(folder: Folder) -> Iterator[str]:
    """Workloads that it names: they must be there, and must not come back to it."""
    named = [(f"parts.{name}.workload", part.workload) for name, part in folder.said.parts.items()]
    named += [("data_of", folder.said.data_of)] if folder.said.data_of else []
    for where, name in named:
        other = workload_folders().get(name)
        if name not in workload_names():
            yield f"{where}: unknown workload {name!r}{suggest(name, workload_names())}"
        elif other and (read(other).said.parts or (where == "data_of" and read(other).said.data_of)):
            yield f"{where}: {name!r} is itself made of others; name those"


def _of_factors(folder: Folder) -> Iterator[str]:
    for name, factor in folder.said.factors.items():
        if name in RESERVED:
            yield f"factors.{name}: the name is taken; choose another"
        if not _is_allowed(factor):
            allowed = ", ".join(factor.choices or ()) or f"{factor.since:g} to {factor.until:g}"
            yield f"factors.{name}.default: {factor.default!r} is not allowed; allowed: {allowed}"
        if factor.setting and factor.choices and "as_set" not in factor.choices:
            yield f"factors.{name}.choices: of a setting one must be 'as_set', which leaves it as it is"


def _is_allowed(factor: DeclaredFactor) -> bool:
    if factor.choices is not None:
        return factor.default in factor.choices
    if isinstance(factor.default, bool | str):
        return False
    return float(factor.since or 0) <= factor.default <= float(factor.until or 0)


def _of_tables(folder: Folder) -> Iterator[str]:
    sizes = [name for name, factor in folder.said.factors.items() if factor.is_size]
    for name, table in folder.made.items():
        at = f"tables.{name}"
        if table.rows is not None and (grows := factor_in(table.rows)) and grows not in sizes:
            yield f"{at}.rows: unknown factor {grows!r} of size{suggest(grows, sizes)}"
        if not (table.rows_by or table.loaded_from or folder.said.rows_by_duckdb):
            yield (
                f"{at}: it is not declared where its rows come from; name 'rows_by', 'loaded_from', or "
                "'rows_by_duckdb' of the workload"
            )
        for column, other in table.references.items():
            if other not in folder.made or len(folder.made[other].key) != 1:
                yield f"{at}.references.{column}: {other!r} is no table here with a key of one column"
    known = list(folder.made)
    for name in (name for name in folder.said.changes if name not in known):
        yield f"changes: {name!r} is not a table that this workload makes{suggest(name, known)}"


def _of_parameters(folder: Folder) -> Iterator[str]:
    for where, given in _given(folder):
        known: list[str] = list(folder.said.parameters) if where else []
        for name, parameter in given.items():
            found = [*_of_parameter(folder, name, parameter, known), *_of_row(parameter, given)]
            yield from (f"{where}parameters.{name}: {p}" for p in found)
            known += [name, *names_of(name, parameter)]


def _given(folder: Folder) -> list[tuple[str, dict[str, Parameter]]]:
    """Where parameters are declared, as the begin of a field's name; and which."""
    own = [(f"statements.{name}.", one.parameters) for name, one in folder.said.statements.items()]
    return [("", folder.said.parameters), *own]


def _of_parameter(folder: Folder, name: str, parameter: Parameter, known: Sequence[str]) -> Iterator[str]:
    factors = folder.said.factors
    if name in RESERVED:
        yield "the name is taken; choose another"
    if parameter.fill_in is not None:
        yield f"no values are given yet ({parameter.fill_in}); name a range, a choice, a file or a query"
    if "__" in name:
        yield "two underscores in a row are for what pgbench counts; choose another name"
    if name in factors:
        yield "there is a factor of that name; choose another"
    for used in (used for used in uses(parameter) if used not in known):
        yield f"is made of {used!r}, which is not declared before it{suggest(used, known)}"
    if parameter.kind in OF_CLIENTS and not folder.by_clients:
        yield f"{parameter.kind!r} is for workloads that are driven by clients; take it out"
    if parameter.lookup and folder.by_clients:
        yield "'lookup' is for workloads that are driven by streams; join with a table instead"
    for end in (str(end) for end in [*(parameter.range or ()), parameter.next_after] if end is not None):
        if (grows := factor_in(end)) and grows not in factors:
            yield f"unknown factor {grows!r}{suggest(grows, list(factors))}"
    yield from _of_words(folder, [str(word) for word in [*(parameter.choice or ()), parameter.text or ""]])


def _of_row(parameter: Parameter, beside: Mapping[str, Parameter]) -> Iterator[str]:
    """``beside``: what is declared in the same place."""
    first = beside.get(parameter.row_of or "")
    if not parameter.row_of:
        return
    if (
        first is None
        or first.row_of
        or first.count > 1
        or (first.query is None if parameter.column else not first.choice)
    ):
        what = "query" if parameter.column else "choice"
        yield f"row_of: {parameter.row_of!r} must be declared in the same place, with a {what!r} of which there is one"
    elif parameter.choice and len(parameter.choice) != (others := len(first.choice or ())):
        yield f"row_of: {parameter.row_of!r} has {others} choices, and here are {len(parameter.choice)}"


def _of_words(folder: Folder, words: Sequence[str]) -> Iterator[str]:
    """Of what is put into statements as it is."""
    for word in words:
        if any(ord(letter) < 32 for letter in word):
            yield f"{word!r} holds a line break or the like; take it out"
        if folder.by_clients and (found := VARIABLE.search(word)):
            yield f"{word!r}: pgbench would take {found[0]!r} for a variable, also within quotes; choose other words"


# Of the files beside it.


def _of_statements(folder: Folder) -> Iterator[str]:
    for name, statement in folder.said.statements.items():
        files = folder.files_of(name)
        if not files:
            yield f"statements.{name}: there is no file {name}.sql beside workload.yaml; write the statement there"
        for file in files:
            yield from (f"statements.{name}: {file.name}: {p}" for p in _of_statement(folder, statement, file))


def _of_statement(folder: Folder, statement: DeclaredStatement, file: Path) -> Iterator[str]:
    try:
        text = folder.text(file.name)
        found = sql_text.statements(text) if folder.by_clients else (sql_text.on_one_line(text),)
    except SpecError as error:
        yield from error.problems
        return
    known = {**folder.said.parameters, **statement.parameters}
    of_parameters = [each for key, parameter in known.items() for each in names_of(key, parameter)]
    yield from _of_placeholders(text, [*of_parameters, *folder.said.factors])
    if folder.by_clients and (variable := next(filter(None, map(VARIABLE.search, found)), None)):
        yield (
            f"{variable[0]!r} would be a variable of pgbench, also within quotes; write ':' || '{variable[0][1:]}' in "
            "a text, or take the colon out"
        )
    if not folder.by_clients and folder.said.answers != "none" and not all(map(sql_text.is_reading, found)):
        yield f"changes rows, so that its answer cannot be compared ('answers: {folder.said.answers}'); write 'none'"


def _of_rows(folder: Folder) -> Iterator[str]:
    for name, table in folder.made.items():
        if table.rows_by:
            known = ["ids", "seed", *folder.said.factors]
            yield from (f"tables.{name}.rows_by: {problem}" for problem in _of_one(folder, table.rows_by, known))
    if rows := folder.said.rows_by_duckdb:
        yield from (f"rows_by_duckdb.file: {problem}" for problem in _of_several(folder, rows.file))


def _of_files(folder: Folder) -> Iterator[str]:
    said, factors = folder.said, list(folder.said.factors)
    for number, file in enumerate(said.before_trial):
        yield from (f"before_trial.{number}: {problem}" for problem in _of_several(folder, file))
    selects = [(f"asked.{name}.file", one.file) for name, one in said.asked.items()]
    selects += [(f"checks.{name}", file) for name, file in said.checks.items()]
    selects += [(f"suites.{name}.rows", suite.rows) for name, suite in said.suites.items()]
    texts = [(f"suites.{name}.suite", suite.suite) for name, suite in said.suites.items()]
    for where, given in _given(folder):
        selects += [(f"{where}parameters.{name}.query", one.query) for name, one in given.items() if one.query]
        texts += [(f"{where}parameters.{name}.file", one.file) for name, one in given.items() if one.file]
    for field, file in selects:
        yield from (f"{field}: {problem}" for problem in _of_one(folder, file, factors))
    for field, file in texts:
        yield from (f"{field}: {problem}" for problem in _of_list(folder, file))


def _of_list(folder: Folder, name: str) -> Iterator[str]:
    try:
        yield from _of_words(folder, folder.lines(name) if name.endswith(".txt") else [])
        folder.text(name)
    except SpecError as error:
        yield from error.problems


def _of_one(folder: Folder, name: str, known: Sequence[str]) -> Iterator[str]:
    """Of a file with one statement that reads."""
    yield from _of_ending(name)
    try:
        text = folder.text(name)
        if not sql_text.is_reading(sql_text.only(text)):
            yield f"{name}: must be a SELECT"
    except SpecError as error:
        yield from (f"{name}: {problem}" for problem in error.problems)
        return
    yield from (f"{name}: {problem}" for problem in _of_placeholders(text, known))


def _of_several(folder: Folder, name: str) -> Iterator[str]:
    yield from _of_ending(name)
    try:
        text = folder.text(name)
        sql_text.statements(text)
    except SpecError as error:
        yield from (f"{name}: {problem}" for problem in error.problems)
        return
    yield from (f"{name}: {problem}" for problem in _of_placeholders(text, list(folder.said.factors)))


def _of_ending(name: str) -> Iterator[str]:
    if not name.endswith(".sql"):
        yield f"{name}: a file of SQL ends with .sql; rename it"


def _of_placeholders(text: str, known: Sequence[str]) -> Iterator[str]:
    template = Template(text)
    if not template.is_valid():
        yield "a '$' without a name; write '$$' for the sign itself"
        return
    for name in (name for name in template.get_identifiers() if name not in known):
        yield f"unknown placeholder ${name}{suggest(name, known)}"
