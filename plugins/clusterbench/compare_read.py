"""A run as it is compared, read from its archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.archive import RunArchive
from clusterbench.compare import OneRun
from clusterbench.conformance import archived
from clusterbench.durability import archived as durability_of
from clusterbench.report.facts_compared import Side
from clusterbench.statistics import Result


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
    declared = {name: declared_of(archive.get_json(f"platforms/{name}/conformance.json")) for name in platforms}
    kept = durability_of(found, {name: known or {} for name, known in facts.items()})
    name, opened = f"{archive.experiment}/{archive.run_id}", archive.need_json("run.json")
    return OneRun(name, opened, sides, declared, kept.labelled(results), kept)


def declared_of(conformance: Mapping[str, Any] | None) -> dict[str, str]:
    """Hosts of the same setting as one: they have other names in other runs."""
    found: dict[str, dict[str, None]] = {}
    for row in archived(conformance):
        found.setdefault(row.setting, {})[row.declared] = None
    return {setting: ", ".join(sorted(values)) for setting, values in found.items()}
