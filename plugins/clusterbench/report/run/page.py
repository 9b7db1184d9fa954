"""The page: what was gathered, put into the template ``include/report/report.html.j2``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from clusterbench.base import words
from clusterbench.base.archive import RunArchive
from clusterbench.base.in_parallel import in_parallel
from clusterbench.report.run import host_facts, platform_tables, trial_tables, trust
from clusterbench.report.run.chart_data import Chart
from clusterbench.report.run.charts import draw, draw_course
from clusterbench.report.run.concurrency_series import series_courses
from clusterbench.report.run.concurrency_series_chart import draw_series
from clusterbench.report.run.database import database_table
from clusterbench.report.run.density import density_table
from clusterbench.report.run.density_findings import findings as density_findings
from clusterbench.report.run.drivers import drivers
from clusterbench.report.run.equal_utilisation import Pair, pairs, papers
from clusterbench.report.run.findings import Findings, findings
from clusterbench.report.run.hypervisor import seen
from clusterbench.report.run.labels import durability_read, labelled, not_durable
from clusterbench.report.run.load_found import searches
from clusterbench.report.run.nodes import node_tables
from clusterbench.report.run.paper_tables import PaperTable, paper_tables
from clusterbench.report.run.per_type import type_table
from clusterbench.report.run.platforms import Comparison, comparisons
from clusterbench.report.run.profiles import others, shown_profiles
from clusterbench.report.run.queries import query_tables
from clusterbench.report.run.resources import Course, courses
from clusterbench.report.run.steadiness import steadiness
from clusterbench.report.run.steadiness_chart import draw_steadiness
from clusterbench.report.run.sweeps import SweepView
from clusterbench.report.run.system import printed_tables, system_tables
from clusterbench.report.run.workers import workers
from clusterbench.report.template import environment
from clusterbench.results import rounds
from clusterbench.results.gather import Gathered, gather
from clusterbench.results.utilisation import POINTS_MAX, THROUGHPUT
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.rehearsal import notice, scale_of

TEMPLATE = "report.html.j2"


def render_report(archive: RunArchive, catalog: Catalog) -> str:
    """The report of one run as HTML. Renders what is there, also of a run whose set-up failed."""
    return render(archive, catalog)[0]


def render(archive: RunArchive, catalog: Catalog) -> tuple[str, Findings]:
    """The report, and its first lines as data: made once, of one reading of the archive."""
    run = labelled(gather(archive, catalog))
    columns, views = trial_tables.trial_columns(run), SweepView.of_run(run)
    host_rows = platform_tables.host_rows(run)
    compared, equal = comparisons(run, views), pairs(run, views)
    found = findings(run, views)
    html = (
        _environment()
        .get_template(TEMPLATE)
        .render(
            run=run,
            badge=trust.badge(run),
            findings=found,
            summary=trust.summary(run),
            broken=trust.broken(run),
            failed_cells=trust.failed_cells(run),
            logs_of_faults=trust.logs_of_faults(run),
            not_run=trust.not_run(run),
            outages=trust.outages(run),
            resumed=[each for name in run.platforms for each in rounds.told(archive, name)],
            stopped_trials=trust.stopped_trials(run),
            head=_head(run),
            not_durable=not_durable(run),
            checks=trust.checks(run.verdicts),
            platform_differences=host_facts.platform_differences(run),
            shared_machines=trust.shared_machines(run),
            rehearsal=notice(run.opened.get("choices") or {}),
            comparisons=[_comparison(entry) for entry in compared if not (equal and entry.name == THROUGHPUT)],
            equal=_equal(run, equal, compared) if equal else None,
            system=_system(run, views),
            printed=printed_tables(run, views),
            steadiness=_steadiness(run, views),
            paper_tables=[_paper_table(table) for table in paper_tables(run, views)],
            work=workers(run),
            hypervisor=seen(run),
            density=_density(run, views),
            series=_series(run, views),
            drivers=drivers(run),
            profiles=shown_profiles(archive, run),
            more_profiles=others(run),
            courses=[_course(number, course) for number, course in enumerate(courses(run))],
            sweeps=[_sweep(run, view) for view in views],
            host_fact_columns=host_facts.COLUMNS,
            host_tables=platform_tables.host_tables(host_rows),
            host_rows=host_rows,
            interface_rows=platform_tables.interface_rows(run),
            plans=platform_tables.plans(run, _archived_plans(archive, run)),
            facts=platform_tables.facts(run),
            trial_columns=columns,
            trial_rows=trial_tables.trial_rows(run, columns),
        )
    )
    return html, found


def _archived_plans(archive: RunArchive, run: Gathered) -> platform_tables.Plans:
    cells = list(dict.fromkeys((record.trial.platform, record.trial.cell) for record in run.trials))
    return dict(zip(cells, in_parallel(lambda cell: archive.plans(*cell), cells), strict=True))


def _environment() -> Environment:
    made = environment()
    made.filters["state"] = trust.state_of_verdict
    made.filters["found"] = trust.found_words
    return made


def _head(run: Gathered) -> list[tuple[str, str]]:
    """(word, what it is) for the lines under the title."""
    choices = run.opened.get("choices") or {}
    engines = [_engine(name, run) for name in run.platforms]
    chosen = {
        "platforms": ", ".join(engines),
        "scale": scale_of(choices),
        "seed": choices.get("seed"),
        "measured": _when(run),
        "in turns": ", ".join(run.in_turns),
        "started by": words.said_by(run.opened.get("started_by") or {}),
        "note": choices.get("note"),
        "tags": ", ".join(choices.get("tags") or ()),
        "clusterbench": run.opened.get("clusterbench"),
        "durability": durability_read(run),
    }
    if len(engines) == 1:
        chosen = {"platform": engines[0], **{key: value for key, value in chosen.items() if key != "platforms"}}
    return [(word, str(value)) for word, value in chosen.items() if value not in (None, "")]


def _engine(platform: str, run: Gathered) -> str:
    """ "lab_db1 (PostgreSQL 15.18)": the version up to its first detail; the product's own where it has one."""
    facts = (run.facts.get(platform) or {}).get("engine") or {}
    if facts.get("product"):
        return f"{platform} ({facts['product']} {facts['product_version']}, {facts.get('segments')} segments)"
    version = str(facts.get("version") or "")
    return f"{platform} ({version.split(' (', maxsplit=1)[0].split(' on ', maxsplit=1)[0]})" if version else platform


def _when(run: Gathered) -> str:
    started = [record.started_at for record in run.trials if record.started_at]
    if not started:
        return "no trial was started"
    first, last = words.moment(min(started)), words.moment(max(started))
    return f"{first}, the last trial at {last.split(' ', 1)[-1] if first[:10] == last[:10] else last}"


def _sweep(run: Gathered, view: SweepView) -> dict[str, Any]:
    plots = []
    for plot in view.plots:
        plots.append({"plot": plot, "figure": _figure(plot.chart, f"{view.name}-{plot.name}")})
    return {
        "view": view,
        "plots": plots,
        "matrix": trial_tables.measurement_matrix(view),
        "queries": query_tables(run, view),
        "types": type_table(view),
        "searches": searches(run, view),
        "database": database_table(run, view),
    }


def _comparison(entry: Comparison) -> dict[str, Any]:
    charts = [chart for chart in (entry.values, entry.ratios) if chart]
    return {
        "entry": entry,
        "figures": [(chart, _figure(chart, f"platforms-{entry.name}-{number}")) for number, chart in enumerate(charts)],
    }


def _equal(run: Gathered, found: Sequence[Pair], compared: Sequence[Comparison]) -> dict[str, Any]:
    """With the figures of the paper's values, where it has any."""
    figures = [_comparison(entry)["figures"] for entry in compared if entry.name == THROUGHPUT]
    return {"pairs": found, "papers": papers(run), "figures": figures[0] if figures else [], "points": POINTS_MAX}


def _system(run: Gathered, views: Sequence[SweepView]) -> dict[str, Any] | None:
    shared = trust.shared_machines(run)
    found = system_tables(run, views, is_one_machine=bool(shared))
    return {"tables": found, "is_shared": bool(shared)} if found else None


def _steadiness(run: Gathered, views: Sequence[SweepView]) -> list[dict[str, Any]]:
    made = []
    for number, (title, cells) in enumerate(steadiness(run, views).items()):
        drawn = [(cell, draw_steadiness(cell, f"steady-{number}-{at}")) for at, cell in enumerate(cells)]
        figures = [(cell, Markup(figure)) for cell, figure in drawn]  # noqa: S704  as below
        made.append({"title": title, "figures": figures, "types": list(cells[0].lines)})
    return made


def _paper_table(table: PaperTable) -> dict[str, Any]:
    return {"table": table, "figure": _figure(table.ratios, f"paper-{table.name}")}


def _density(run: Gathered, views: Sequence[SweepView]) -> dict[str, Any] | None:
    table = density_table(run, views)
    return {"table": table, "findings": density_findings(run, table), "nodes": node_tables(run)} if table else None


def _series(run: Gathered, views: Sequence[SweepView]) -> list[dict[str, Any]]:
    made = []
    for number, (title, found) in enumerate(series_courses(run, views).items()):
        steal_max = max(course.highest("steal") for course in found)
        drawn = [(course, draw_series(course, f"series-{number}-{at}", steal_max)) for at, course in enumerate(found)]
        figures = [(course, Markup(figure)) for course, figure in drawn]  # noqa: S704  as below
        made.append({"title": title, "figures": figures})
    return made


def _course(number: int, course: Course) -> dict[str, Any]:
    return {"course": course, "figure": Markup(draw_course(course, f"course-{number}"))}  # noqa: S704  as below


def _figure(chart: Chart | None, key: str) -> Markup | None:
    return Markup(draw(chart, key)) if chart else None  # noqa: S704  escaped by matplotlib, and our own
