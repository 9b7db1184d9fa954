"""``clusterbench workload new``: a folder and an experiment from the statements of a living database, or of a log."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clusterbench.base.connections import local_connections
from clusterbench.base.errors import SpecError
from clusterbench.base.paths import lab_dir, project_root
from clusterbench.base.words import plural
from clusterbench.cli.cluster import by_whom
from clusterbench.cli.common import FAILED, OK
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.catalog import Catalog

if TYPE_CHECKING:
    from clusterbench.engines import Database
    from clusterbench.workloads.declared.written import Columns, Counted

STATEMENTS_MAX = 10


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    workload = commands.add_parser("workload", help="'workload new': one of your own, from a living database or a log")
    kinds = workload.add_subparsers(required=True, metavar="new")
    new = kinds.add_parser("new", help="write a folder below include/sql, and an experiment of three concurrencies")
    new.add_argument("name", help="of the workload and of the experiment: small letters, digits and _")
    new.add_argument("--from", dest="platform", required=True, metavar="PLATFORM", help="whose database is asked")
    new.add_argument("--log", type=Path, metavar="FILE", help="take the statements of this file of SQL instead")
    new.add_argument(
        "--statements", type=int, default=STATEMENTS_MAX, metavar="N", help=f"at most; default {STATEMENTS_MAX}"
    )
    new.add_argument("--title", help="in words")
    new.set_defaults(command=_new)


def _new(options: argparse.Namespace) -> int:
    """Nothing is overwritten, and nothing is changed in the database."""
    from clusterbench.engines import as_database  # noqa: PLC0415
    from clusterbench.run.run import Run  # noqa: PLC0415
    from clusterbench.workloads.declared import written  # noqa: PLC0415

    root = project_root()
    folder, experiment = root / "include/sql" / options.name, root / "dags/experiments" / f"{options.name}.yaml"
    _check_name(options.name, folder, experiment)
    run = Run("by_hand", by_whom(), local_connections(lab_dir()))
    with run.testbed(options.platform) as testbed:
        engine = as_database(testbed.engine)
        usable, left_out = _statements(engine, options.log, options.statements)
        columns = _columns(engine, usable)
        there = _those_there(usable, columns, options.platform)
        counted = there[: options.statements]
        columns = {table: columns[table] for table in written.tables_in(counted)}
        title = options.title or options.name.replace("_", " ").capitalize()
        made = written.workload(options.name, title, counted, columns, options.platform)
        folder.mkdir()
        for name, text in made.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        by_streams = written.is_for_streams(counted)
        experiment.write_text(written.experiment(options.name, title, options.platform, by_streams=by_streams))
        refused = [] if made.to_fill_in else _refused(options.name, engine)
    _say(folder, experiment, len(counted), made.to_fill_in, left_out, refused)
    if len(there) > len(counted):
        print(f"taken are the {len(counted)} of most time, of {len(there)}: --statements N takes more")
    if not made.to_fill_in and (problems := Catalog(root).lint()):
        raise SpecError(problems)
    return FAILED if refused else OK


def _check_name(name: str, folder: Path, experiment: Path) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise SpecError([f"{name!r} is no name; allowed: small letters, digits and '_', a letter first, at most 40"])
    if name in workload_names() or folder.exists() or experiment.exists():
        there = next((str(path) for path in (folder, experiment) if path.exists()), "built in")
        raise SpecError([f"there is a workload or an experiment {name!r} already ({there}); choose another name"])


def _statements(engine: Database, log: Path | None, most: int) -> tuple[list[Counted], int]:
    """Those that can be used, and how many cannot."""
    from clusterbench.workloads.declared.logged import of_log  # noqa: PLC0415
    from clusterbench.workloads.declared.written import Counted, is_usable  # noqa: PLC0415

    if log:
        found = of_log(log.read_text(encoding="utf-8"))
    else:
        heavy = engine.heaviest_statements(5 * most)
        found = [Counted(one.query, one.calls, one.time_ms) for one in heavy]
    usable = [one for one in found if is_usable(one)]
    if not usable:
        where = str(log) if log else f"pg_stat_statements of {engine.platform.platform!r}"
        raise SpecError([
            f"{where} holds no statement that reads a table and changes nothing ({plural(len(found), 'statement')} in "
            "all); run what you want to measure once, or give a file by --log"
        ])  # fmt: skip
    return usable, len(found) - len(usable)


def _refused(name: str, engine: Database) -> list[str]:
    """Statements, as the first trial has them, of which the server gives no plan, each with the server's words."""
    from clusterbench.base.plans import NO_PLAN  # noqa: PLC0415
    from clusterbench.trial.plan import make_plan, read_choices  # noqa: PLC0415
    from clusterbench.workloads import Planned, load_workload  # noqa: PLC0415

    catalog = Catalog(project_root())
    experiment = catalog.experiment(name)
    (trials,) = make_plan(experiment, read_choices(experiment, {"scale": "smoke"}), catalog).trials.values()
    workload = load_workload(name)
    assert isinstance(workload, Planned)
    plans = workload.plans(trials[0], engine)
    return [f"{each}: {plan.removeprefix(NO_PLAN)}" for each, plan in plans.items() if plan.startswith(NO_PLAN)]


def _columns(engine: Database, counted: Sequence[Counted]) -> Columns:
    """Of those tables of the statements that are there."""
    from clusterbench.base.sql import quoted, raw, statement  # noqa: PLC0415
    from clusterbench.workloads.declared.written import tables_in  # noqa: PLC0415

    tables = tables_in(counted)
    found: dict[str, dict[str, str]] = {table: {} for table in tables}
    listed = ", ".join(f"({_literal(table)}, to_regclass({_literal(quoted(table))}))" for table in tables)
    for row in engine.query(statement("postgres", "columns_of", tables=raw(listed))):
        found[str(row["table_name"])][str(row["column_name"])] = str(row["column_type"])
    return cast("Columns", {table: columns for table, columns in found.items() if columns})


def _those_there(usable: Sequence[Counted], columns: Columns, platform: str) -> list[Counted]:
    """Without those about tables that are not there, which it says. Raises SpecError where no other is left."""
    from clusterbench.workloads.declared.written import tables_in  # noqa: PLC0415

    said, there = [], []
    for one in usable:
        missing = next((table for table in tables_in([one]) if table not in columns), None)
        if not missing:
            there.append(one)
        else:
            remedy = f"write its schema, such as shop.{missing} (a SET search_path is not followed)"
            said.append(
                f"left out: {' '.join(one.text.split())[:100]}: there is no table {missing!r} for the login of "
                f"{platform!r}; {remedy if '.' not in missing else 'mend its name'}"
            )
    if not there:
        raise SpecError(said)
    print("\n".join(said), end="\n" if said else "")
    return there


def _literal(text: str) -> str:
    from psycopg import sql  # noqa: PLC0415

    return sql.Literal(text).as_string(None)


def _say(  # noqa: PLR0917  private, and each argument is a line of what is said
    folder: Path,
    experiment: Path,
    statements: int,
    to_fill_in: Sequence[str],
    left_out: int,
    refused: Sequence[str],
) -> None:
    from clusterbench.workloads.declared.written import FILL_IN  # noqa: PLC0415

    print(f"wrote {folder} ({plural(statements, 'statement')}) and {experiment}")
    if left_out:
        print(f"left out: {plural(left_out, 'statement')} that change rows, or are not read as SQL")
    for one in to_fill_in:
        print(f"  to fill in: {one}")
    for one in refused:
        print(f"  the server refuses {one}")
    first = ["look at"] if not to_fill_in else [f"say in place of each '{FILL_IN}' what may stand there, in"]
    first += ["and mend what the server refuses, in"] if refused else []
    how = f"then 'clusterbench plans {folder.name} --scale smoke', which asks the server about each statement, and "
    print(
        f"next: {' '.join(first)} {folder}/workload.yaml; {how if to_fill_in or refused else 'then '}"
        f"'clusterbench run {folder.name} --scale smoke'"
    )
