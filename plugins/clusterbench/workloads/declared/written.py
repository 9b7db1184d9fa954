"""From statements that a server has counted, or a log holds, to the files of a workload over existing tables. Pure.

What compares a column with a constant draws from that column's values. What cannot be told is to be filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from psycopg.sql import Identifier

from clusterbench.base.errors import SpecError
from clusterbench.base.sql import identifier, statement
from clusterbench.workloads.declared import sql_text
from clusterbench.workloads.declared.model import Value

VALUES_MAX = 500
"""Of a column, that are drawn from."""
UNTYPED = ("smallint", "integer", "bigint", "numeric", "text", "character varying", "real", "double")
"""Types with which a number or a text is compared as it is."""
WITH_A_TYPE = re.compile(r"\b(interval|date|timestamp|timestamptz|time)\s+\$(\d+)", re.IGNORECASE)
"""What only a constant may follow."""
FILL_IN = "fill_in"
CLIENTS_BELOW_MS = 200.0
"""Where statements take less on average, clients drive them; else streams."""
CONCURRENCY = {"smoke": [1, 2, 4], "laptop": [1, 4, 16], "full": [1, 16, 64]}
WINDOW = (
    "      ramp_up_s: {smoke: [1], laptop: [5], full: [60]}\n      window_s: {smoke: [3], laptop: [20], full: [300]}\n"
)

Columns = Mapping[str, Mapping[str, str]]
"""Table, as statements name it -> column -> its type."""


@dataclass(frozen=True)
class Counted:
    """A statement, with $1, $2 for its constants or with the constants; how often, and how long in all.

    ``observed``: what stood there for $1, $2, where a log has it: each value once.
    """

    text: str
    calls: int
    time_ms: float = 0.0
    observed: Mapping[int, Sequence[Value]] = field(default_factory=dict)


@dataclass
class Written:
    """File -> what is in it, and what a person has to look at."""

    files: dict[str, str] = field(default_factory=dict)
    to_fill_in: list[str] = field(default_factory=list)


def tables_in(counted: Sequence[Counted]) -> list[str]:
    """Names of tables, as the server has them; without those that a WITH makes."""
    found: dict[str, None] = {}
    for one in counted:
        tree = _parsed(one.text)
        made = {str(cte.alias) for cte in tree.find_all(_exp().CTE)}
        for table in tree.find_all(_exp().Table):
            name = _name_of(table)
            if name and name not in made and isinstance(table.this, _exp().Identifier):
                found[name] = None
    return list(found)


def _name_of(table: Any) -> str:
    """With its schema, where it has one."""
    return ".".join(_folded(part) for part in (table.args.get("db"), table.this) if isinstance(part, _exp().Identifier))


def _folded(name: Any) -> str:
    """An identifier as the server has it: in small letters, unless it stands in quotes."""
    return str(name.this) if name.quoted else str(name.this).lower()


def is_usable(one: Counted) -> bool:
    """Whether it reads as SQL, and changes nothing: tables that are there stay as they are."""
    try:
        return sql_text.is_reading(sql_text.only(one.text)) and bool(tables_in([one]))
    except SpecError:
        return False


def workload(name: str, title: str, counted: Sequence[Counted], columns: Columns, platform: str) -> Written:
    """``include/sql/<name>``, without its folder."""
    made = Written()
    statements = []
    by_streams = is_for_streams(counted)
    least = min((one.calls for one in counted), default=1)
    for number, one in enumerate(counted, 1):
        called = f"s{number:02d}"
        text, drawn = _with_names(called, one, columns, made)
        made.files[f"{called}.sql"] = f"{text.rstrip()}\n"
        own = "".join(f"\n      {key}: {value}" for key, value in drawn.items())
        weight = "" if by_streams else f"    weight: {max(1, round(one.calls / least))}\n"
        statements.append(
            f"  {called}:  # {one.calls:,} calls{f', {one.time_ms / 1e3:,.1f} s' if one.time_ms else ''}\n"
            f"    title: {json.dumps(' '.join([called, *tables_in([one])]), ensure_ascii=False)}\n{weight}"
            + (f"    parameters:{own}\n" if own else "")
        )
    tables = "".join(f"  {_key(table)}: {{existing: {json.dumps(table)}}}\n" for table in columns)
    made.files["workload.yaml"] = _yaml(name, title, tables, "".join(statements), platform, by_streams=by_streams)
    return made


def is_for_streams(counted: Sequence[Counted]) -> bool:
    calls, time_ms = sum(one.calls for one in counted), sum(one.time_ms for one in counted)
    return bool(calls) and time_ms / calls > CLIENTS_BELOW_MS


def experiment(name: str, title: str, platform: str, *, by_streams: bool) -> str:
    """``dags/experiments/<name>.yaml``: three levels of concurrency, tables warm."""
    factor = "streams" if by_streams else "clients"
    window = "" if by_streams else WINDOW
    plots = "[response_time_s]" if by_streams else "[throughput_per_s, latency_ms_p99]"
    levels = ", ".join(f"{scale}: {counts}" for scale, counts in CONCURRENCY.items())
    return (
        f"# Written by 'clusterbench workload new'; what it measures is in include/sql/{name}.\n"
        f"experiment: {name}\ntitle: {json.dumps(title)}\n"
        f"description: >\n  The statements of include/sql/{name} by concurrency.\n"
        f"platforms: [{platform}]\nseed: 1\ndefault_scale: laptop\n\nsweeps:\n  concurrency:\n"
        f"    title: By {factor}\n    workload: {name}\n    plots: {plots}\n    factors:\n"
        f"      {factor}: {{{levels}}}\n{window}      cache: [{'as_left' if by_streams else 'ramped_up'}]\n"
        "    repetitions: {smoke: 1, laptop: 3, full: 5}\n"
    )


def _yaml(name: str, title: str, tables: str, statements: str, platform: str, *, by_streams: bool) -> str:
    head = dedent(f"""\
        # Written by 'clusterbench workload new' from the statements of {platform}. docs/workload.md says what each key
        # means. What says '{FILL_IN}' is to be filled in.
        workload: {name}
        title: {json.dumps(title)}
        description: >
          Statements over tables that are there; nothing is changed.
        driven_by: {"streams" if by_streams else "clients"}

        tables:
        """)
    return f"{head}{tables}\nstatements:\n{statements}\nanswers: none  # nobody checks them; see docs/workload.md\n"


def _with_names(called: str, one: Counted, columns: Columns, made: Written) -> tuple[str, dict[str, str]]:
    """The statement with named placeholders, and what each is drawn from as YAML. SELECTs of values go to ``made``."""
    text = _with_casts(one.text)
    tree = _parsed(text)
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    places: dict[str, list[Any]] = {}
    for parameter in tree.find_all(_exp().Parameter):
        places.setdefault(str(parameter.name or parameter.this), []).append(parameter)
    for number, same in places.items():
        parameter = next((place for place in same if _compared(place) is not None), same[0])
        name = f"{called}_p{number}"
        names[number] = name
        if _is_listed(parameter) and not one.observed.get(int(number)):
            names[number] = f"{name}_1}}, ${{{name}_2}}, ${{{name}_3"
            text = re.sub(rf"\(\s*\${number}(::[\w ]+(\[\])?)?\s*\)", f"(ARRAY[${number}])", text)
        found[name] = _drawn_from(name, parameter, tree, columns, made, one.observed.get(int(number), ()))
    written = re.sub(
        r"\$(\d+)", lambda match: f"${{{names.get(match[1], 'p' + match[1])}}}", text.replace("$$", "$$$$")
    )
    return written, {name: found[name] for name in sorted(found)}


def _drawn_from(  # noqa: PLR0917  private, and each argument is a part of what is known
    name: str, parameter: Any, tree: Any, columns: Columns, made: Written, observed: Sequence[Value]
) -> str:
    column, table = _compared(parameter), None
    if column is not None:
        table = _table_of(column, tree, columns)
    if observed:
        kind = columns[table].get(_folded(column.this), "") if table and column is not None else ""
        kind = "bpchar" if kind == "character" else kind
        if kind and _is_listed(parameter):
            kind += "[]"
        typed = f", type: {json.dumps(kind)}" if kind.endswith("[]") or (kind and not kind.startswith(UNTYPED)) else ""
        return f"{{choice: {json.dumps(list(observed[:VALUES_MAX]))}{typed}}}"
    if parameter.find_ancestor(_exp().Limit, _exp().Fetch):
        return "{choice: [100]}  # a LIMIT: how many rows"
    if parameter.find_ancestor(_exp().Offset):
        return "{choice: [0]}  # an OFFSET: how many rows are left out"
    if table:
        several = ", count: 3" if _is_listed(parameter) else ""
        return f"{{query: {_values_of(column, table, made)}{several}}}"
    why = "nobody knows what it stands for"
    if column is not None:
        why = f"compared with {column.sql(dialect='postgres')}, whose table is not known"
    made.to_fill_in.append(f"{name}: {why}")
    return f"{{{FILL_IN}: {json.dumps(why)}}}"


def _values_of(column: Any, table: str, made: Written) -> str:
    """The file with the SELECT of a column's values."""
    name = _folded(column.this)
    file = f"values_of_{_key(table)}_{_key(name)}.sql"
    made.files[file] = statement(
        "tables",
        "values_of",
        column=Identifier(name),
        table=identifier(table),
        looked_at=100 * VALUES_MAX,
        values_max=VALUES_MAX,
    )
    return file


def _compared(parameter: Any) -> Any | None:
    """The column that is compared with the parameter as they are, if it is one: by =, <, BETWEEN, IN or = ANY."""
    kinds = _exp()
    compared, child = parameter.parent, parameter
    while isinstance(compared, kinds.Paren | kinds.Cast | kinds.Any | kinds.Tuple):
        compared, child = compared.parent, compared
    if not isinstance(
        compared, kinds.EQ | kinds.NEQ | kinds.GT | kinds.GTE | kinds.LT | kinds.LTE | kinds.In | kinds.Between
    ):
        return None
    other = compared.this if compared.this is not child else compared.args.get("expression")
    while isinstance(other, kinds.Paren):
        other = other.this
    return other if isinstance(other, kinds.Column) else None


def _is_listed(parameter: Any) -> bool:
    """Whether it stands for several values: = ANY ($1)."""
    return isinstance(parameter.find_ancestor(_exp().Any, _exp().Select), _exp().Any)


def _table_of(column: Any, tree: Any, columns: Columns) -> str | None:
    """By its alias, or the only table that has such a column."""
    kinds = _exp()
    name = _folded(column.this)
    aliases = {str(table.alias_or_name): _name_of(table) for table in tree.find_all(kinds.Table)}
    if column.table:
        found = aliases.get(str(column.table))
        return found if found and name in columns.get(found, {}) else None
    having = [table for table in dict.fromkeys(aliases.values()) if name in columns.get(table, {})]
    return having[0] if len(having) == 1 else None


def _key(name: str) -> str:
    """As a name in YAML, and as a part of a file's name."""
    key = re.sub(r"[^a-z0-9_]", "_", name.lower())[:39]
    return key if key[0].isalpha() else f"t_{key}"[:39]


def _with_casts(text: str) -> str:
    return WITH_A_TYPE.sub(r"CAST($\2 AS \1)", text)


def _parsed(text: str) -> Any:
    from sqlglot import parse_one  # noqa: PLC0415  slow to import
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    text = _with_casts(text)
    try:
        return parse_one(re.sub(r"(\$\d+)(?=\S)", r"\1 ", text), read="postgres")  # see sql_text.PLACEHOLDER
    except SqlglotError as error:
        raise SpecError([f"is not read as SQL: {str(error).splitlines()[0]}"]) from None


def _exp() -> Any:
    from sqlglot import exp  # noqa: PLC0415  as above

    return exp
