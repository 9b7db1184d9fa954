"""Tables of measurements, made from the kinds that drivers, telemetry and workloads declare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from clusterbench.base import database_work
from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import listed
from clusterbench.drivers import mix_readings, pgbench, psql_streams
from clusterbench.hosts import node_spread, resource_use, speed_kinds
from clusterbench.spec.by_name import workload_names
from clusterbench.workloads import load_workload
from clusterbench.workloads.declared.together import PER_HOUR, TogetherWorkload
from clusterbench_docs.blocks import Kinds, slug, table

DRIVER_CPU = "driver_cpu_share"
"""Of every driver, so that it tells no group from another."""
Named = Mapping[str, MeasurementKind]
_OF_MIX = mix_readings.kinds({"TRANSACTION": "one type"}, {"TRANSACTION": 1.0}, "all types")
GROUPS: Mapping[str, tuple[str, Named]] = {
    "lookups": ("One statement by many clients (pgbench)", pgbench.MEASUREMENTS),
    "mix": (
        "A mix of transactions by many clients (pgbench)",
        {name: kind for name, kind in _OF_MIX.items() if name not in pgbench.OPEN_LOOP},
    ),
    "open_loop": ("Loads with a rate (open loop)", pgbench.OPEN_LOOP),
    "streams": (
        "Streams of statements (psql)",
        {
            **psql_streams.MEASUREMENTS,
            "STATEMENT_s": MeasurementKind("s", "Mean time of a statement", about=psql_streams.OF_STATEMENT),
        },
    ),
    "database": ("What the database did meanwhile", database_work.TOTALS),
    "sessions": ("What its sessions waited for", database_work.SESSIONS),
    "interconnect": ("What its network did meanwhile", database_work.NETWORK),
    "hosts": ("What its hosts did meanwhile", resource_use.MEASUREMENTS),
    "nodes": ("How evenly its nodes worked", node_spread.MEASUREMENTS),
    "host_speeds": ("How fast each host is by itself", speed_kinds.KINDS),
}
"""Measurements that several workloads have: heading of their section, and the kinds."""


def groups_of(workload: str) -> dict[str, list[str]]:
    """Group -> the measurements that a workload has of it, in the order of the page."""
    abouts = {kind.about for kind in load_workload(workload).measurements.values()}
    found = {
        group: [name for name, kind in kinds.items() if kind.about in abouts] for group, (_, kinds) in GROUPS.items()
    }
    return {group: names for group, names in found.items() if set(names) - {DRIVER_CPU}}


def own(workload: str) -> dict[str, MeasurementKind]:
    """Its measurements that stand in none of its groups."""
    shared = {kind.about for group in groups_of(workload) for kind in GROUPS[group][1].values()}
    return {name: kind for name, kind in load_workload(workload).measurements.items() if kind.about not in shared}


def make_group(argument: str) -> str:
    if argument not in GROUPS:
        raise LookupError(f"there is no group {argument!r}; there are {', '.join(GROUPS)}")
    return _table(GROUPS[argument][1])


def make_workload(argument: str) -> str:
    """What it alone has, and the groups of the rest."""
    if argument not in workload_names():
        raise LookupError(f"there is no workload {argument!r}; there are {', '.join(workload_names())}")
    workload = load_workload(argument)
    if isinstance(workload, TogetherWorkload):
        return _together(workload)
    kinds = own(argument)
    links = [_link(group, names) for group, names in groups_of(argument).items()]
    parts = [_table(kinds)] if kinds else []
    if links:
        parts += ["Beside these it has those of:" if kinds else "It has the measurements of:", "\n".join(links)]
    named = _names_in_families(workload.measurements.items())
    return "\n\n".join([*parts, *named])


def _link(group: str, names: list[str]) -> str:
    """To a group's section, with the names where it is not all of them."""
    heading, kinds = GROUPS[group]
    only = "" if len(names) == len(kinds) else f": {_names(names, 'and')}"
    return f"- [{heading}](#{slug(heading)}){only}"


def _together(workload: TogetherWorkload) -> str:
    lines = [f"The measurements of its first part, `{workload.first_name}`, have the names that they have there."]
    for part in workload.others:
        lines += [
            f"Those of the part `{part}` begin with `{part}_`, and count what lies within the first part's window. "
            "One is added:",
            _table({f"{part}_statements_per_hour": PER_HOUR}),
        ]
    return "\n\n".join(lines)


def _names_in_families(kinds: Iterable[tuple[str, MeasurementKind]]) -> list[str]:
    """A sentence that says what STATEMENT and TRANSACTION stand for."""
    found: dict[str, dict[str, None]] = {}
    for name, kind in kinds:
        if kind.about and kind.about.family:
            word, _, rest = kind.about.family.partition("_")
            found.setdefault(word, {})[name.removesuffix(f"_{rest}")] = None
    return [f"{word} is {_names(list(names), 'or')}." for word, names in found.items()]


def _names(names: list[str], word: str) -> str:
    code = [f"`{name}`" for name in names]
    if len(code) > 12:
        return f"one of {len(code)} names, {code[0]} to {code[-1]}"
    return listed(code, word)


def _table(kinds: Named) -> str:
    """With a sentence before it that says where the clock is of those that name none of their own."""
    clocks = Counter(kind.about.clock for kind in kinds.values() if kind.about)
    usual = clocks.most_common(1)[0][0]
    rows = []
    for name, kind in kinds.items():
        about = kind.about
        if about is None:
            raise LookupError(f"measurement {name!r} has no words: MeasurementKind.about")
        clock = "" if about.clock == usual else f" Clock: {about.clock}."
        unit = ", ".join(filter(None, [kind.unit.replace("1", "", kind.unit == "1"), kind.better]))
        title = "" if about.family else f"*{kind.title}.* "
        rows.append((f"`{name}`", unit, title + about.what + clock, about.leaves_out))
    shown = rows if any(row[3] for row in rows) else [row[:3] for row in rows]
    header = ("measurement", "unit, better", "what it is", "what it leaves out")
    return f"Clock: {usual}{'' if len(clocks) == 1 else ', if no other is named'}.\n\n" + table(
        header[: len(shown[0])], [tuple(row) for row in shown]
    )


KINDS: Kinds = {"measurements": make_group, "measurements_of": make_workload}
