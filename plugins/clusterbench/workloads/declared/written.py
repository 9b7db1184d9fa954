"""From statements that a server has counted, or a log holds, to the files of a workload over existing tables. Pure.

What compares a column with a constant draws from that column's values. What cannot be told is to be filled in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import SpecError
from clusterbench.base.sql import raw, statement
from clusterbench.workloads.declared import sql_text

if TYPE_CHECKING:
    pass

VALUES_MAX = 500
"""Of a column, that are drawn from."""
FILL_IN = "fill in"
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
    """A statement, with $1, $2 for its constants or with the constants; how often, and how long in all."""

    text: str
    calls: int
    time_ms: float = 0.0


@dataclass
class Written:
    """File -> what is in it, and what a person has to look at."""

    files: dict[str, str] = field(default_factory=dict)
    to_fill_in: list[str] = field(default_factory=list)


def of_log(text: str) -> list[Counted]:
    """Each statement of a file of SQL, as often as it stands there."""
    counts: dict[str, int] = {}
    for each in sql_text.statements(text):
        if not sql_text.is_framing(each):
            counts[each] = counts.get(each, 0) + 1
    return [Counted(each, calls) for each, calls in counts.items()]


def tables_in(counted: Sequence[Counted]) -> list[str]:
    """Names of tables, as the statements have them; without those that a WITH makes."""
    found: dict[str, None] = {}
    for one in counted:
        tree = _parsed(one.text)
        made = {str(cte.alias) for cte in tree.find_all(_exp().CTE)}
        for table in tree.find_all(_exp().Table):
            name = ".".join(filter(None, (table.db, table.name)))
            if name and name not in made and isinstance(table.this, _exp().Identifier):
                found[name] = None
    return list(found)


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
        text, drawn = _with_names(called, one.text, columns, made)
        made.files[f"{called}.sql"] = f"{text.rstrip()}\n"
        own = "".join(f"\n      {key}: {value}" for key, value in drawn.items())
        weight = "" if by_streams else f"    weight: {max(1, round(one.calls / least))}\n"
        statements.append(
            f"  {called}:  # {one.calls:,} calls{f', {one.time_ms / 1e3:,.1f} s' if one.time_ms else ''}\n"
            f"    title: statement {number}\n{weight}" + (f"    parameters:{own}\n" if own else "")
        )
    tables = "".join(f"  {_key(table)}: {{existing: {table}}}\n" for table in columns)
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
        # means. Look at every line that says '{FILL_IN}'.
        workload: {name}
        title: {json.dumps(title)}
        description: >
          Statements over tables that are there; nothing is changed.
        driven_by: {"streams" if by_streams else "clients"}

        tables:
        """)
    return f"{head}{tables}\nstatements:\n{statements}\nanswers: none  # nobody checks them; see docs/workload.md\n"


def _with_names(called: str, text: str, columns: Columns, made: Written) -> tuple[str, dict[str, str]]:
    """The statement with named placeholders, and what each is drawn from as YAML. SELECTs of values go to ``made``."""
    tree = _parsed(text)
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for parameter in tree.find_all(_exp().Parameter):
        number = str(parameter.name or parameter.this)
        name = f"{called}_p{number}"
        names[number] = name
        found[name] = _drawn_from(name, parameter, tree, columns, made)
    written = re.sub(
        r"\$(\d+)", lambda match: f"${{{names.get(match[1], 'p' + match[1])}}}", text.replace("$$", "$$$$")
    )
    return written, {name: found[name] for name in sorted(found)}


def _drawn_from(name: str, parameter: Any, tree: Any, columns: Columns, made: Written) -> str:
    if parameter.find_ancestor(_exp().Limit, _exp().Offset, _exp().Fetch):
        return "{choice: [100]}  # rows of a LIMIT"
    if column := _compared(parameter):
        if table := _table_of(column, tree, columns):
            file = f"values_of_{_key(table)}_{_key(column.name)}.sql"
            made.files[file] = statement(
                "tables",
                "values_of",
                column=raw(column.name),
                table=raw(table),
                looked_at=100 * VALUES_MAX,
                values_max=VALUES_MAX,
            )
            return f"{{query: {file}}}"
        made.to_fill_in.append(f"{name}: compared with {column.sql()}, whose table is not known")
    else:
        made.to_fill_in.append(f"{name}: nobody knows what it stands for")
    return f"{{choice: [1]}}  # {FILL_IN}: what may stand here"


def _compared(parameter: Any) -> Any | None:
    """The column that is compared with the parameter, if it is one."""
    kinds = _exp()
    compared = parameter.find_ancestor(kinds.Binary, kinds.In, kinds.Between, kinds.Like)
    return compared.find(kinds.Column) if compared else None


def _table_of(column: Any, tree: Any, columns: Columns) -> str | None:
    """By its alias, or the only table that has such a column."""
    kinds = _exp()
    aliases = {
        str(table.alias_or_name): ".".join(filter(None, (table.db, table.name))) for table in tree.find_all(kinds.Table)
    }
    if column.table:
        found = aliases.get(str(column.table))
        return found if found in columns else None
    having = [table for table in dict.fromkeys(aliases.values()) if column.name in columns.get(table, {})]
    return having[0] if len(having) == 1 else None


def _key(name: str) -> str:
    """As a name in YAML, and as a part of a file's name."""
    key = re.sub(r"[^a-z0-9_]", "_", name.lower())[:39]
    return key if key[0].isalpha() else f"t_{key}"[:39]


def _parsed(text: str) -> Any:
    from sqlglot import parse_one  # noqa: PLC0415  slow to import
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    try:
        return parse_one(text, read="postgres")
    except SqlglotError as error:
        raise SpecError([f"is not read as SQL: {str(error).splitlines()[0]}"]) from None


def _exp() -> Any:
    from sqlglot import exp  # noqa: PLC0415  as above

    return exp
