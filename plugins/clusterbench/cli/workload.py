"""``clusterbench workload new``: a folder and an experiment from the statements of a living database, or of a log."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.base.words import plural
from clusterbench.cli.cluster import by_whom
from clusterbench.cli.common import FAILED, OK, own_connections
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.catalog import Catalog, project_catalog

if TYPE_CHECKING:
    from clusterbench.engines import Database
    from clusterbench.workloads.declared.constants import Columns, Written
    from clusterbench.workloads.declared.counted import Counted

STATEMENTS_MAX = 10
SHOWN = 10
SAMPLES_FROM = 9_05_00
"""The version from which on a server takes a sample of a table's pages."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    workload = commands.add_parser(
        "workload",
        help="'workload new': write a workload from the statements of a running database, or of a file of SQL",
    )
    kinds = workload.add_subparsers(required=True, metavar="new")
    new = kinds.add_parser(
        "new", help="write a folder in include/sql, and an experiment with three levels of concurrency"
    )
    new.add_argument("name", help="name of the workload and of the experiment: small letters, digits and _")
    new.add_argument(
        "--from",
        dest="platform",
        required=True,
        metavar="PLATFORM",
        help="read the statements from this platform's database",
    )
    new.add_argument("--log", type=Path, metavar="FILE", help="read the statements from this file of SQL instead")
    new.add_argument(
        "--statements",
        type=int,
        default=STATEMENTS_MAX,
        metavar="N",
        help=f"take at most N statements; default {STATEMENTS_MAX}",
    )
    new.add_argument("--title", help="title in reports")
    new.set_defaults(command=_new)


def _new(options: argparse.Namespace) -> int:
    """Nothing is overwritten, and nothing is changed in the database."""
    from clusterbench.engines import as_database  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415
    from clusterbench.workloads.declared import written  # noqa: PLC0415
    from clusterbench.workloads.declared.counted import tables_in  # noqa: PLC0415

    root = project_root()
    folder, experiment = root / "include/sql" / options.name, root / "dags/experiments" / f"{options.name}.yaml"
    _check_name(options.name, folder, experiment)
    run = Run(BY_HAND, by_whom(), own_connections())
    with run.testbed(options.platform) as testbed:
        engine = as_database(testbed.engine)
        usable, left_out = _statements(engine, options.log, options.statements)
        columns = _columns(engine, usable)
        there = _those_there(usable, columns, options.platform)
        counted = there[: options.statements]
        columns = {table: columns[table] for table in tables_in(counted)}
        title = options.title or options.name.replace("_", " ").capitalize()
        share = _share_left_out(left_out, usable)
        samples = _samples(engine, columns)
        made = written.workload(options.name, title, counted, columns, options.platform, share, samples)
        made.guessed += _that_may_change(engine, counted)
        folder.mkdir()
        for name, text in made.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        by_streams = written.is_for_streams(counted)
        experiment.write_text(written.experiment(options.name, title, options.platform, by_streams=by_streams))
        refused = [] if made.to_fill_in else _refused(options.name, engine)
    _say(folder, experiment, len(counted), made, left_out, share, refused)
    if len(there) > len(counted):
        most = "most calls" if options.log else "most time"
        print(f"the {len(counted)} statements of {len(there)} with {most} are taken: --statements N takes more")
    if not made.to_fill_in and (problems := Catalog(root).lint()):
        raise SpecError(problems)
    return FAILED if refused else OK


def _check_name(name: str, folder: Path, experiment: Path) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise SpecError(
            [
                f"{name!r} is not allowed as a name; allowed: small letters, digits and '_', a letter first, at most "
                "40 characters"
            ]
        )
    if name in workload_names() or folder.exists() or experiment.exists():
        there = next((str(path) for path in (folder, experiment) if path.exists()), "built in")
        raise SpecError([f"a workload or an experiment {name!r} exists already ({there}); choose another name"])


def _statements(engine: Database, log: Path | None, most: int) -> tuple[list[Counted], list[tuple[Counted, str]]]:
    """Those that can be used; and those that cannot, each with why. What is no SQL in a log is said."""
    from clusterbench.workloads.declared.counted import Counted, merged, why_not  # noqa: PLC0415
    from clusterbench.workloads.declared.logged import of_log  # noqa: PLC0415

    if log:
        found, problems = of_log(log.read_text(encoding="utf-8"))
        for problem in problems:
            print(f"left out: {log}: {problem}")
    else:
        heavy = engine.heaviest_statements(5 * most)
        found = [Counted(one.query, one.calls, one.time_ms, one.rows) for one in heavy]
    judged = [(one, why_not(one)) for one in merged(found)]
    usable = [one for one, why in judged if not why]
    if not usable:
        where = str(log) if log else f"pg_stat_statements of {engine.platform.platform!r}"
        raise SpecError([
            f"{where} has no statement that reads a table and changes nothing ({plural(len(found), 'statement')} in "
            "all); run once what you want to measure, or give a file with --log"
        ])  # fmt: skip
    return usable, [(one, why) for one, why in judged if why]


def _share_left_out(left_out: Sequence[tuple[Counted, str]], usable: Sequence[Counted]) -> str:
    """How much of all calls that is; empty where nothing was left out."""
    calls = sum(one.calls for one, _ in left_out)
    every = calls + sum(one.calls for one in usable)
    what = f"{plural(len(left_out), 'statement')} {'is' if len(left_out) == 1 else 'are'} left out"
    return f"Of those that were found, {what}: {calls / every:.0%} of all calls." if left_out else ""


def _samples(engine: Database, columns: Columns) -> dict[str, str]:
    """Of tables of many rows how SQL takes as many pages as are looked at, where the server can."""
    from clusterbench.base.sql import raw, statement  # noqa: PLC0415
    from clusterbench.workloads.declared.constants import LOOKED_AT  # noqa: PLC0415

    if int(engine.query("SHOW server_version_num")[0]["server_version_num"]) < SAMPLES_FROM or not columns:
        return {}
    rows = engine.query(statement("postgres", "sizes_of", tables=raw(_named(columns))))
    many = {str(row["table_name"]): float(row["row_count"]) for row in rows if row["can_be_sampled"]}
    return {
        table: f"TABLESAMPLE SYSTEM ({max(0.001, 200 * LOOKED_AT / count):.3f}) REPEATABLE (1)"
        for table, count in many.items()
        if count > 4 * LOOKED_AT
    }


def _that_may_change(engine: Database, counted: Sequence[Counted]) -> list[str]:
    """Statements that call a function of somebody's own that the server does not know to change nothing."""
    from clusterbench.base.sql import statement  # noqa: PLC0415
    from clusterbench.workloads.declared.counted import functions_in  # noqa: PLC0415

    rows = engine.query(statement("postgres", "volatile_functions"))
    known = {str(row["name"]) for row in rows}
    return [
        f"s{number:02d} calls {', '.join(sorted(names))}, which may change something as far as the server knows; "
        "if it does, trials fail, because their sessions may only read"
        for number, one in enumerate(counted, 1)
        if (names := functions_in(one) & known)
    ]


def _refused(name: str, engine: Database) -> list[str]:
    """Statements, as the first trial has them, of which the server gives no plan, each with the server's words."""
    from clusterbench.base.plans import NO_PLAN  # noqa: PLC0415
    from clusterbench.trial.plan import make_plan, read_choices  # noqa: PLC0415
    from clusterbench.workloads import Planned, load_workload  # noqa: PLC0415

    catalog = project_catalog()
    experiment = catalog.experiment(name)
    (trials,) = make_plan(experiment, read_choices(experiment, {"scale": "smoke"}), catalog).trials.values()
    workload = load_workload(name)
    assert isinstance(workload, Planned)
    plans = workload.plans(trials[0], engine)
    return [f"{each}: {plan.removeprefix(NO_PLAN)}" for each, plan in plans.items() if plan.startswith(NO_PLAN)]


def _columns(engine: Database, counted: Sequence[Counted]) -> Columns:
    """Of those tables of the statements that are there."""
    from clusterbench.base.sql import raw, statement  # noqa: PLC0415
    from clusterbench.workloads.declared.counted import tables_in  # noqa: PLC0415

    tables = tables_in(counted)
    found: dict[str, dict[str, str]] = {table: {} for table in tables}
    for row in engine.query(statement("postgres", "columns_of", tables=raw(_named(tables)))):
        found[str(row["table_name"])][str(row["column_name"])] = str(row["column_type"])
    return cast("Columns", {table: columns for table, columns in found.items() if columns})


def _those_there(usable: Sequence[Counted], columns: Columns, platform: str) -> list[Counted]:
    """Without those about tables that are not there, which it says. Raises SpecError where no other is left."""
    from clusterbench.workloads.declared.counted import tables_in  # noqa: PLC0415

    said, there = [], []
    for one in usable:
        missing = next((table for table in tables_in([one]) if table not in columns), None)
        if not missing:
            there.append(one)
        else:
            remedy = f"write its schema, such as shop.{missing} (a SET search_path is not followed)"
            said.append(
                f"left out: {' '.join(one.text.split())[:100]}: there is no table {missing!r} for the login of "
                f"{platform!r}; {remedy if '.' not in missing else 'correct its name'}"
            )
    if not there:
        raise SpecError(said)
    print("\n".join(said), end="\n" if said else "")
    return there


def _named(tables: Iterable[str]) -> str:
    """Rows of VALUES: each one's name, and its number as the server has it."""
    from clusterbench.base.sql import quoted  # noqa: PLC0415

    return ", ".join(f"({_literal(table)}, to_regclass({_literal(quoted(table))}))" for table in tables)


def _literal(text: str) -> str:
    from psycopg import sql  # noqa: PLC0415

    return sql.Literal(text).as_string(None)


def _say(  # noqa: PLR0917  private, and each argument is a line of what is said
    folder: Path,
    experiment: Path,
    statements: int,
    made: Written,
    left_out: Sequence[tuple[Counted, str]],
    share: str,
    refused: Sequence[str],
) -> None:
    from clusterbench.workloads.declared.constants import FILL_IN  # noqa: PLC0415

    print(f"wrote {folder} ({plural(statements, 'statement')}) and {experiment}")
    for one, why in left_out[:SHOWN]:
        print(f"left out: {' '.join(one.text.split())[:80]} ({plural(one.calls, 'call')}): {why}")
    if len(left_out) > SHOWN:
        print(f"left out: {len(left_out) - SHOWN} more")
    if share:
        print(share)
    for line in made.to_fill_in:
        print(f"  to fill in: {line}")
    for line in made.guessed:
        print(f"  check: {line}")
    for line in refused:
        print(f"  the server refuses {line}")
    first = ["check the values"] if not made.to_fill_in else [f"replace each '{FILL_IN}'"]
    first += ["and correct what the server refuses"] if refused else []
    how = f"then 'clusterbench plans {folder.name} --scale smoke', which asks the server about each statement, and "
    print(
        f"next: {' '.join(first)} in {folder}/workload.yaml; {how if made.to_fill_in or refused else 'then '}"
        f"'clusterbench run {folder.name} --scale smoke'"
    )
