"""A run as it is compared: read from its archive, or from what was read of it for other ends."""

from __future__ import annotations

from collections.abc import Iterable

from clusterbench.base.archive import RunArchive
from clusterbench.hosts.conformance import Row, archived
from clusterbench.results.compare import OneRun
from clusterbench.results.durability import archived as durability_of
from clusterbench.results.facts_compared import Side
from clusterbench.results.gather import Gathered
from clusterbench.results.statistics import Result


def read_run(archive: RunArchive) -> OneRun:
    """Raises ArchiveError where the run has no results yet."""
    found = archive.need_json("results.json")
    results = [Result.from_json(entry) for entry in found["results"]]
    platforms = dict.fromkeys(result.platform for result in results)
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") for name in platforms}
    sides = {
        name: Side.of(facts[name], archive.store.get(f"{archive.prefix}platforms/{name}/platform.yaml"))
        for name in platforms
    }
    rows = {name: archived(archive.get_json(f"platforms/{name}/conformance.json")) for name in platforms}
    declared = {name: _declared_of(found) for name, found in rows.items()}
    kept = durability_of(found, {name: known or {} for name, known in facts.items()})
    name, opened = f"{archive.experiment}/{archive.run_id}", archive.need_json("run.json")
    return OneRun(name, opened, sides, declared, kept.labelled(results), kept)


def of_gathered(run: Gathered) -> OneRun:
    """The same of a run with results that was gathered without its trials: nothing is read again."""
    platforms = dict.fromkeys(result.platform for result in run.results)
    sides = {name: run.sides[name] for name in platforms}
    declared = {name: _declared_of(run.conformance[name]) for name in platforms}
    name, kept = f"{run.experiment_name}/{run.run_id}", run.durability
    return OneRun(name, run.opened, sides, declared, kept.labelled(run.results), kept)


def _declared_of(rows: Iterable[Row]) -> dict[str, str]:
    """Hosts of the same setting as one: they have other names in other runs."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        found.setdefault(row.setting, {})[row.declared] = None
    return {setting: ", ".join(sorted(values)) for setting, values in found.items()}
