"""The command line: ``clusterbench lint | plan | run | setup | cluster | lab`` and more; ``--help`` lists them all."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from clusterbench.base.archive import RunArchive
from clusterbench.base.connections import local_connections
from clusterbench.base.errors import ArchiveError, ClusterbenchError
from clusterbench.base.paths import lab_dir, project_root
from clusterbench.base.run_ids import WEEKLY, run_id_from
from clusterbench.cli import cluster, compare, history, regressions, weekly
from clusterbench.cli.cluster import FAILED, OK
from clusterbench.cli.compare import SHOWN, archive_of
from clusterbench.report import addresses
from clusterbench.results.durability import Durability, archived
from clusterbench.results.statistics import Result
from clusterbench.spec import SCALES, Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.placed import placed
from clusterbench.spec.placement_rules import check_practices, described
from clusterbench.spec.platform import pool_of
from clusterbench.trial.plan import estimate, make_plan, read_choices


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; errors that a person can act on are printed without a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["lab"]:
        return _lab(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except ClusterbenchError as error:
        print(f"clusterbench: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("clusterbench: interrupted; what was started goes on in Airflow", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "clusterbench", description="Benchmarks of data clusters, declared and repeatable."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    lint = commands.add_parser("lint", help="check every experiment, platform and published file")
    lint.set_defaults(command=_lint)

    plan = commands.add_parser("plan", help="show trials, bytes, disk and time, without touching a host")
    _add_choices(plan)
    plan.add_argument("--trials", action="store_true", help="list every trial in its order")
    plan.add_argument("--json", action="store_true", help="everything, as JSON")
    plan.set_defaults(command=_plan)

    run = commands.add_parser(
        "run", help="start an experiment, or 'weekly', in Airflow, as Trigger in its UI does, and follow it"
    )
    _add_choices(run)
    run.add_argument("--no-wait", action="store_true", help="start it and return")
    weekly.add_to(run)
    run.set_defaults(command=_run)

    for name, command, words in (
        ("verify", _verify, "read a run back from the archive and compare every object with its manifest"),
        ("results", _results, "print a run's results"),
        ("report", _report, "write a run's HTML report to a file"),
    ):
        sub = commands.add_parser(name, help=words)
        sub.add_argument("run", metavar="RUN", help="EXPERIMENT/RUN_ID, or the run id alone")
        if name == "results":
            sub.add_argument("--json", action="store_true", help="everything, as JSON")
        if name == "report":
            sub.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE")
        sub.set_defaults(command=command)

    show = commands.add_parser("show", help="print an object of a run's archive, or list what is there")
    show.add_argument("run", metavar="RUN", help="EXPERIMENT/RUN_ID, or the run id alone")
    show.add_argument("object", metavar="OBJECT", nargs="?", help="its name in the archive; a folder is listed")
    show.set_defaults(command=_show)

    compare.add_to(commands)
    regressions.add_to(commands)
    cluster.add_to(commands)
    history.add_to(commands)

    lite = commands.add_parser("lite", help="choose the 51 fastest TPC-DS queries, once, from a run of all 99")
    lite.add_argument("run", metavar="RUN", help="EXPERIMENT/RUN_ID, or the run id alone")
    lite.add_argument("--platform", required=True, metavar="P", help="the reference platform")
    lite.set_defaults(command=_lite)

    pools = commands.add_parser("pools", help="make the one-slot pool of every cluster in Airflow")
    pools.set_defaults(command=_pools)

    bench = commands.add_parser("bench", help="measure the pipeline itself against the driver by hand, as ratios")
    bench.set_defaults(command=_bench)
    commands.add_parser("lab", help="up | status | down: real servers on this machine", add_help=False)
    return parser


def _add_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT")
    parser.add_argument("--scale", choices=SCALES)
    parser.add_argument("--platform", action="append", metavar="NAME", help="may be given several times")
    parser.add_argument("--sweep", action="append", metavar="NAME", help="may be given several times")
    parser.add_argument("--concurrency", action="append", type=int, metavar="N", help="may be given several times")
    parser.add_argument("--repetitions", type=int, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N")


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    given = {
        "scale": options.scale,
        "platforms": options.platform,
        "sweeps": options.sweep,
        "concurrency": options.concurrency,
        "repetitions": options.repetitions,
        "seed": options.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def _lint(_options: argparse.Namespace) -> int:
    catalog = Catalog(project_root())
    problems = catalog.lint()
    for problem in problems:
        print(problem, file=sys.stderr)
    files = len(catalog.experiment_files) + len(catalog.platform_files) + len(catalog.published_files)
    print(f"{files} files, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    return FAILED if problems else OK


def _plan(options: argparse.Namespace) -> int:
    catalog = Catalog(project_root())
    experiment = catalog.experiment(options.experiment)
    plan = make_plan(experiment, read_choices(experiment, _chosen(options)), catalog)
    estimates = estimate(plan, catalog)
    if options.json:
        lacking = {name: catalog.platform(name).without_hosts for name in plan.trials}
        placements = {name: described(catalog.platform(name)) for name in plan.trials}
        said = {
            **plan.as_json(),
            "estimates": [asdict(one) for one in estimates],
            "without_hosts": lacking,
            "placements": placements,
            "neighbours": {name: list(catalog.platform(name).neighbours) for name in plan.trials},
        }
        print(json.dumps(said, indent=1, sort_keys=True))
        return OK
    table = Table(title=f"{experiment.title}, {plan.choices.scale} scale, seed {plan.choices.seed}")
    for column in ("platform", "trials", "not applicable", "data", "disk needed", "load files", "about"):
        table.add_column(column, justify="left" if column == "platform" else "right")
    for one in estimates:
        table.add_row(
            one.platform,
            str(one.trials),
            str(one.not_applicable),
            _bytes(one.dataset_bytes),
            _bytes(one.disk_needed_bytes),
            _bytes(one.files_bytes) if one.files_bytes else "none",
            _duration(one.estimate_s),
        )
    Console().print(table)
    _print_notes([catalog.platform(name) for name in plan.trials])
    if options.trials:
        for name, trials in plan.trials.items():
            for number, trial in enumerate(trials, 1):
                print(f"{name} {number:4d} {trial.id:60} {trial.label}")
    return OK


def _print_notes(platforms: Sequence[Platform]) -> None:
    for platform in platforms:
        if note := platform.without_hosts:
            print(f"{platform.platform}: {note}")
        if platform.neighbours:
            names = ", ".join(platform.neighbours)
            print(f"{platform.platform}: beside every trial its neighbours are under the same load: {names}")
    for platform in platforms:
        _print_placement(platform)


def _print_placement(platform: Platform) -> None:
    """Where its hosts are, and what the papers' best practices say of that."""
    if not (one := placed(platform)):
        return
    print(f"\n{platform.platform}: {one.say()}")
    for judged in check_practices(one):
        print(f"  {judged.level:<8}{judged.rule:<30}{judged.found} (paper {judged.source})")


def _run(options: argparse.Namespace) -> int:
    from clusterbench.airflow.api import AirflowApi  # noqa: PLC0415
    from clusterbench.airflow.watch import follow  # noqa: PLC0415

    catalog = Catalog(project_root())
    of_week = weekly.chosen(options)
    if options.experiment == WEEKLY:
        api = AirflowApi.from_environment(lab_dir())
        api.ensure_pools(_pool_names(catalog))
        return weekly.run_week(api, of_week, _show_results, wait=not options.no_wait)
    experiment = catalog.experiment(options.experiment)
    choices = read_choices(experiment, _chosen(options))
    make_plan(experiment, choices, catalog)  # a choice that cannot be planned is refused here, in plain words
    api = AirflowApi.from_environment(lab_dir())
    api.ensure_pools(_pool_names(catalog))
    dag_run_id = api.trigger(experiment.experiment, _chosen(options))
    print(f"started {experiment.experiment}: {api.url}{addresses.dag_run(experiment.experiment, dag_run_id)}")
    if options.no_wait:
        return OK
    state = follow(api, experiment.experiment, dag_run_id)
    return _show_end(api, experiment.experiment, dag_run_id, state)


def _show_end(api: Any, dag_id: str, dag_run_id: str, state: str) -> int:
    """Results, where the report is, and an exit status that is 0 only for a valid run."""
    asked = api.dag_run(dag_id, dag_run_id)
    run_id = run_id_from(datetime.fromisoformat(asked["run_after"]), dag_run_id)
    archive = archive_of(f"{dag_id}/{run_id}")
    verdicts = archive.get_json("verdicts.json")
    weekly.show_run(archive, _show_results)
    print(f"airflow  {api.url}{addresses.dag_run(dag_id, dag_run_id)}")
    valid = state == "success" and bool(verdicts and verdicts["valid"]) and archive.sealed
    print(f"run {dag_id}/{run_id}: {'valid' if valid else 'NOT VALID'}")
    if not valid:
        _print_reasons(archive, verdicts)
    return OK if valid else FAILED


def _print_reasons(archive: RunArchive, verdicts: dict[str, Any] | None) -> None:
    for error in archive.errors():
        times = f" ({error['times']} times)" if error["times"] > 1 else ""
        print(f"  {error['platform']}, {error['step']}: {error['error']}{times}", file=sys.stderr)
    for verdict in (verdicts or {}).get("verdicts", []):
        if verdict["critical"] and not verdict["passed"]:
            print(f"  not so: {verdict['says']} ({verdict['found']})", file=sys.stderr)


def _show_results(archive: RunArchive) -> None:
    _print_results(*_results_of(archive))


def _results_of(archive: RunArchive) -> tuple[list[Result], Durability]:
    found = archive.need_json("results.json")
    results = [Result.from_json(entry) for entry in found["results"]]
    platforms = dict.fromkeys(result.platform for result in results)
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") or {} for name in platforms}
    kept = archived(found, facts)
    return kept.labelled(results), kept


def _print_results(results: Sequence[Result], kept: Durability) -> None:
    table = Table(title="Results: median, 95 % interval, best")
    for column in ("platform", "cell", "n", "measurement", "median", "95 % interval", "best", "unit"):
        table.add_column(column, justify="right" if column in ("median", "95 % interval", "best", "n") else "left")
    for result in results:
        platform = kept.named(result.platform)
        shown = [name for name in SHOWN if name in result.measurements] or list(result.measurements)[:1]
        if not shown:
            reason = (result.reasons or ["not run"])[0]
            table.add_row(platform, result.label, result.n_of_n, reason[:60], "", "", "", "")
        for number, name in enumerate(shown):
            summary = result.measurements[name]
            low_high = summary.interval_95
            table.add_row(
                *((platform, result.label, result.n_of_n) if number == 0 else ("", "", "")),
                name,
                f"{summary.median:.4g}",
                f"{low_high[0]:.4g} to {low_high[1]:.4g}" if low_high else "fewer than 3",
                f"{summary.best:.4g}",
                summary.unit,
            )
    Console(width=max(150, Console().width)).print(table)


def _verify(options: argparse.Namespace) -> int:
    archive = archive_of(options.run)
    problems = archive.verify()
    for problem in problems:
        print(problem, file=sys.stderr)
    listed = (archive.get_json("manifest.json") or {}).get("objects", {})
    print(f"{archive.url}: {len(listed)} objects in the manifest, {len(problems) or 'no'} problems")
    return FAILED if problems else OK


def _show(options: argparse.Namespace) -> int:
    archive = archive_of(options.run)
    name = options.object or ""
    if content := archive.store.get(archive.prefix + name) if name else None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return OK
    if not (names := archive.keys(name)):
        raise ArchiveError(f"{archive.url}: there is no {name!r}; without OBJECT every name is listed")
    print("\n".join(names))
    return OK


def _lite(options: argparse.Namespace) -> int:
    from clusterbench.workloads.tpcds import selection  # noqa: PLC0415

    archive, path = archive_of(options.run), project_root() / selection.FILE
    chosen = selection.select(f"{archive.experiment}/{archive.run_id}", options.platform, archive.trials())
    path.write_text(selection.as_yaml(chosen), encoding="utf-8")
    print(f"{path}: {', '.join(map(str, chosen.queries))}")
    return OK


def _results(options: argparse.Namespace) -> int:
    found, kept = _results_of(archive_of(options.run))
    if options.json:
        everything = {"results": [result.as_json() for result in found], "durability": kept.as_json()}
        print(json.dumps(everything, indent=1, sort_keys=True))
    else:
        _print_results(found, kept)
    return OK


def _report(options: argparse.Namespace) -> int:
    from clusterbench.report.run.page import render_report  # noqa: PLC0415
    from clusterbench.report.week.page import render_week, week_of  # noqa: PLC0415

    archive, catalog = archive_of(options.run), Catalog(project_root())
    if archive.experiment == WEEKLY:
        page = render_week(week_of(local_connections(lab_dir()), catalog, archive))
    else:
        page = render_report(archive, catalog)
    options.output.write_text(page, encoding="utf-8")
    print(f"written to {options.output}")
    return OK


def _pools(_options: argparse.Namespace) -> int:
    from clusterbench.airflow.api import AirflowApi  # noqa: PLC0415

    names = _pool_names(Catalog(project_root()))
    made = AirflowApi.from_environment(lab_dir()).ensure_pools(names)
    print(f"pools: {', '.join(names)}; made now: {', '.join(made) or 'none'}")
    return OK


def _pool_names(catalog: Catalog) -> dict[str, str]:
    return {pool_of(platform): f"One run at a time on cluster {platform.cluster}" for platform in catalog.platforms()}


def _bytes(count: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} B"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _bench(_options: argparse.Namespace) -> int:
    return int(_of_lab("clusterbench_lab.bench.all").main(lab_dir()))


def _lab(arguments: list[str]) -> int:
    status = int(_of_lab("clusterbench_lab.command").main(arguments))
    if status == OK and arguments[:1] == ["up"] and "--no-airflow" not in arguments:
        return main(["pools"])
    return status


def _of_lab(module: str) -> Any:
    """The lab is a package beside this one, which an installation that measures real clusters need not have."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "clusterbench_lab":
            raise
        raise ClusterbenchError(
            "the package clusterbench_lab is not installed here; a clone of the project has it"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
