"""What one file cannot know alone: do the factors exist, are their levels allowed, are the platforms there."""

from __future__ import annotations

from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.factors import factor_of
from clusterbench.spec.by_name import Refusing, declared_by, engine_declaration, engine_names
from clusterbench.spec.concurrency import concurrency_levels
from clusterbench.spec.experiment import EXTREMES, PLATFORM, SCALES, Experiment, Part, Sweep, SweepFinding
from clusterbench.spec.host_settings import items
from clusterbench.spec.platform import Platform
from clusterbench.spec.published import Published
from clusterbench.spec.roles import DRIVERS


def check_experiment(experiment: Experiment, platforms: list[str], published: list[str]) -> list[str]:
    """Problems of an experiment in the light of its workloads, and of the platforms and published files there are."""
    problems = [
        f"platforms: unknown platform {name!r}{suggest(name, platforms)}"
        for name in experiment.platforms
        if name not in platforms
    ]
    if experiment.published is not None and experiment.published not in published:
        name = experiment.published
        problems.append(f"published: there is no published file {name!r}{suggest(name, published)}")
    for name, sweep in experiment.sweeps.items():
        problems += [f"sweeps.{name}.{problem}" for problem in _check_sweep(sweep) + _check_engines(sweep)]
    if not problems:
        problems = _check_followed(experiment)
        problems += [
            f"sweeps.{name}.finding.{problem}"
            for name, sweep in experiment.sweeps.items()
            if sweep.finding
            for problem in _check_finding(sweep, sweep.finding)
        ]
    if experiment.part is not None and not problems:
        problems = [f"part.{problem}" for problem in _check_part(experiment, experiment.part, platforms)]
    return problems


def _check_followed(experiment: Experiment) -> list[str]:
    """Measurements that are followed over the weeks: a sweep's own of its workload, the experiment's of any of them."""
    of_sweeps = {name: list(declared_by(sweep.workload).measurements) for name, sweep in experiment.sweeps.items()}
    followed = [("", experiment.regression, list(dict.fromkeys(m for known in of_sweeps.values() for m in known)))]
    for name, sweep in experiment.sweeps.items():
        if sweep.regression:
            followed.append((f"sweeps.{name}.", sweep.regression, of_sweeps[name]))
    return [
        f"{where}regression.measurements: unknown measurement {name!r}{suggest(name, known)}"
        for where, regression, known in followed
        for name in regression.measurements
        if name not in known
    ]


def _check_finding(sweep: Sweep, finding: SweepFinding) -> list[str]:
    """What it names is there; a level that only some scales have is looked for among all of them."""
    factors, measured = list(sweep.factors), list(declared_by(sweep.workload).measurements)
    problems = []
    if finding.compare not in {None, PLATFORM, *factors}:
        allowed = [PLATFORM, *factors]
        problems.append(f"compare: unknown factor {finding.compare!r}{suggest(str(finding.compare), allowed)}")
    if finding.measurement not in {None, *measured}:
        problems.append(
            f"measurement: unknown measurement {finding.measurement!r}{suggest(str(finding.measurement), measured)}"
        )
    named = dict(finding.at)
    if finding.to is not None and finding.compare in factors:
        named[str(finding.compare)] = finding.to
    for name, level in named.items():
        key = f"at.{name}" if name in finding.at else "to"
        if name not in factors:
            problems.append(f"{key}: unknown factor {name!r}{suggest(name, factors)}")
            continue
        known = {each for scale in SCALES for each in sweep.levels(name, scale)}  # type: ignore[arg-type]
        if level not in known and (level not in EXTREMES or key == "to"):
            problems.append(f"{key}: level {level!r} is at no scale of the sweep; it has {', '.join(map(str, known))}")
    return problems


def _check_part(experiment: Experiment, part: Part, platforms: list[str]) -> list[str]:
    """Concurrency by the largest scale that a part is for; at a smaller one, what is not there is left out."""
    problems = [
        f"{key}: unknown {kind} {name!r}{suggest(name, known)}"
        for key, kind, names, known in (
            ("platforms", "platform", part.platforms, platforms),
            ("sweeps", "sweep", part.sweeps, list(experiment.sweeps)),
        )
        for name in names
        if name not in known
    ]
    if problems:
        return problems
    declared = concurrency_levels(experiment, part.scale or "laptop", part.sweeps)
    allowed = ", ".join(map(str, declared)) or "none, no sweep of the part varies it"
    return [
        f"concurrency: level {level} is not in the part's sweeps at {part.scale or 'laptop'} scale; allowed: {allowed}"
        for level in part.concurrency
        if level not in declared
    ]


def _check_sweep(sweep: Sweep) -> list[str]:
    try:
        workload = declared_by(sweep.workload)
    except SpecError as error:
        return [f"workload: {problem}" for problem in error.problems]
    problems = []
    for name in sweep.factors:
        factor = factor_of(workload.factors, name)
        if factor is None and isinstance(workload, Refusing) and name in workload.refused:
            problems.append(f"factors.{name}: workload {sweep.workload!r} does not have it: {workload.refused[name]}")
            continue
        if factor is None:
            problems.append(f"factors: unknown factor {name!r}{suggest(name, list(workload.factors))}")
            continue
        levels = {level for scale in SCALES for level in sweep.levels(name, scale)}  # type: ignore[arg-type]
        problems += [
            f"factors.{name}: {problem}" for level in sorted(levels, key=str) if (problem := factor.problem(level))
        ]
    rising = [name for name, factor in workload.factors.items() if factor.is_concurrency]
    if sweep.order == "ramp" and not set(rising) & set(sweep.factors):
        named = " or ".join(map(repr, rising)) or f"none, {sweep.workload!r} has no factor of concurrency"
        problems.append(f"order: a ramp needs a factor of concurrency, and this sweep has none; add one: {named}")
    return problems


def _check_engines(sweep: Sweep) -> list[str]:
    """Levels by engine: of engines that there are. Those that are missing are told when one of their platforms is."""
    found = {
        (name, engine)
        for name in sweep.factors
        for scale in SCALES
        for engine in sweep.by_engine(name, scale)  # type: ignore[arg-type]
        if engine and engine not in engine_names()
    }
    return [
        f"factors.{name}: unknown engine {engine!r}{suggest(engine, engine_names())}" for name, engine in sorted(found)
    ]


HARDWARE = ("cpus", "cpu_limit", "memory_limit_gib", "memory_gb", "memory_gib", "data_disks", "clock_offset_ms")
"""What is declared of hosts besides their settings."""


def check_platform(platform: Platform) -> list[str]:
    """What is accepted must be declared, what is to be changed within reach, and neighbours must be others."""
    problems, declaration = _check_neighbours(platform) + _check_hadoop(platform), engine_declaration(platform.engine)
    from_templates = declaration.settings_from_templates
    if "engine_settings" in platform.may and not from_templates and not platform.database_hosts:
        problems.append(
            "may: 'engine_settings' needs a host with the role 'coordinator' or 'segment': settings are written into "
            "the server's own files; name its hosts, or take it out to compare only"
        )
    if from_templates:
        return problems  # what may be accepted is not only what the file names
    of_hosts = {item.setting for declared in items(platform).values() for item in declared}
    programs = {f"program {name}" for names in (("bash",), *declaration.programs.values()) for name in names}
    known = {*of_hosts, *HARDWARE, *platform.settings, *programs}
    for accepted in platform.setup.accepted:
        host, _, setting = accepted.rpartition(": ")
        if host and host not in platform.every_host:
            problems.append(f"setup.accepted: unknown host {host!r}{suggest(host, platform.every_host)}")
        elif setting not in known:
            problems.append(f"setup.accepted: {setting!r} is declared nowhere{suggest(setting, known)}")
    return problems


def _check_hadoop(platform: Platform) -> list[str]:
    """Of one that somebody else runs nothing is started or written, and only hosts that are named can be flushed."""
    if not platform.is_managed:
        return []
    roles = {role for host in platform.hosts.values() for role in host.roles}
    problems = [
        f"may: {leave!r} is of a Hadoop that clusterbench starts, and this one is managed; take it out"
        for leave in ("restart", "recover", "engine_settings", "reboot")
        if leave in platform.may
    ]
    if unknown := sorted(roles - {"client", "load", "worker"}):
        problems.append(
            f"hosts: of a managed Hadoop only the client host and, for their telemetry and page cache, workers are "
            f"named; take out the role {unknown[0]!r}"
        )
    if platform.page_cache == "drop_caches" and "worker" not in roles:
        problems.append("page_cache: no worker's host is named whose cache could be emptied; write page_cache: none")
    return problems


def _check_neighbours(platform: Platform) -> list[str]:
    if platform.neighbours and not platform.database:
        return ["neighbours: are only for platforms with a database, and this one has none; remove them"]
    problems, hosts, databases = [], list(platform.hosts), [platform.database]
    for name, neighbour in platform.neighbours.items():
        where = f"neighbours.{name}"
        roles = {role for host in neighbour.hosts.values() for role in host.roles}
        if neighbour.database in databases and not platform.machines:  # whose databases are where their hosts are
            problems.append(
                f"{where}.database: {neighbour.database!r} is used by another one; name a connection of its own"
            )
        if twice := [host for host in neighbour.hosts if host in hosts]:
            problems.append(f"{where}.hosts: another host is called {twice[0]!r}; choose another name")
        if not roles & {"coordinator", "segment"}:
            problems.append(f"{where}.hosts: none has the role 'coordinator' or 'segment'; name the database's host")
        if roles & DRIVERS:
            problems.append(f"{where}.hosts: 'client' and 'etl' are those of the platform; remove them here")
        hosts += neighbour.hosts
        databases.append(neighbour.database)
    return problems


def check_published(experiment: Experiment, published: Published) -> list[str]:
    """A published value must belong to a sweep and to a measurement that the experiment has."""
    problems = []
    for number, value in enumerate(published.values):
        where = f"values.{number}"
        named = [("measurement", "measurement", value.measurement)]
        named += [(f"levels.{name}", "factor", name) for name in value.levels]
        named += [(f"ratio_to_levels.{name}", "factor", name) for name in value.ratio_to_levels]
        problems += [f"{where}.{problem}" for problem in _unknown_names(experiment, "sweep", value.sweep, named)]
        is_wrong_ratio = value.ratio_to is not None and (value.platform is None or value.unit != "1")
        if is_wrong_ratio and value.sweep in experiment.sweeps:
            problems.append(f"{where}.ratio_to: a ratio needs a 'platform', and its unit is '1', found {value.unit!r}")
        if value.ratio_to_levels and value.ratio_to is None:
            problems.append(f"{where}.ratio_to_levels: is of what it is a ratio to; name that platform in 'ratio_to'")
    for number, difference in enumerate(published.differences):
        named = [("measurement", "measurement", difference.measurement), ("factor", "factor", difference.factor)]
        named += [(f"levels.{name}", "factor", name) for name in difference.levels]
        problems += [
            f"differences.{number}.{problem}"
            for problem in _unknown_names(experiment, "sweep", difference.sweep, named)
        ]
    for number, table in enumerate(published.tables):
        named = [("columns", "measurement", name) for name in table.columns]
        named += [("levels", "factor", name) for name in table.levels]
        named += [(f"row_levels.{row}", "factor", name) for row, levels in table.row_levels.items() for name in levels]
        named += [("best_by", "measurement", table.best_by)] if table.best_by else []
        for sweep in table.sweeps:
            problems += [f"tables.{number}.{problem}" for problem in _unknown_names(experiment, "sweeps", sweep, named)]
    return problems + _check_metrics(experiment, published) + _check_scenarios(experiment, published)


def _check_metrics(experiment: Experiment, published: Published) -> list[str]:
    """A row names a measurement, and levels name factors, of any of the experiment's workloads."""
    known = [name for sweep in experiment.sweeps.values() for name in declared_by(sweep.workload).measurements]
    factors = [name for sweep in experiment.sweeps.values() for name in declared_by(sweep.workload).factors]
    found = [
        f"metrics.{table.table}, levels: no workload of experiment {experiment.experiment!r} has a factor "
        f"{name!r}{suggest(name, list(dict.fromkeys(factors)))}"
        for table in published.metrics
        for levels in (table.levels, *table.column_levels.values())
        for name in levels
        if name not in factors
    ]
    return found + [
        f"metrics.{table.table}, {row.metric!r}: no workload of experiment {experiment.experiment!r} has a "
        f"measurement {row.measurement!r}{suggest(row.measurement, list(dict.fromkeys(known)))}"
        for table in published.metrics
        for row in table.rows
        if row.measurement and row.measurement not in known
    ]


def _check_scenarios(experiment: Experiment, published: Published) -> list[str]:
    table = published.scenarios
    if table is None:
        return []
    named = [("measurement", "measurement", table.measurement), ("warnings", "measurement", table.warnings)]
    named += [("factor", "factor", table.factor)]
    found = [problem for sweep in table.sweeps for problem in _unknown_names(experiment, "sweeps", sweep, named)]
    return [f"scenarios.{problem}" for problem in dict.fromkeys(found)]


def _unknown_names(experiment: Experiment, key: str, sweep_name: str, named: list[tuple[str, str, str]]) -> list[str]:
    """Problems of a sweep, named under ``key``, and of what is ``named`` of it: (key, measurement or factor, name)."""
    sweep = experiment.sweeps.get(sweep_name)
    if sweep is None:
        return [
            f"{key}: experiment {experiment.experiment!r} has no sweep {sweep_name!r}"
            f"{suggest(sweep_name, list(experiment.sweeps))}"
        ]
    workload = declared_by(sweep.workload)
    known = {"measurement": list(workload.measurements), "factor": list(workload.factors)}
    return [
        f"{where}: workload {sweep.workload!r} has no {kind} {name!r}{suggest(name, known[kind])}"
        for where, kind, name in named
        if name not in known[kind]
    ]
