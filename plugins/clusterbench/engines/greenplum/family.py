"""Which member of Greenplum's family a cluster is, and what of the family's parts it has. Pure.

Written from their sources and manuals; docs/greenplum_family.md has the table, and what was tried for real.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clusterbench.base.feature import Feature

PRODUCT = re.compile(r"\((?P<name>[A-Z][\w ]*?) (?P<version>\d[^\s)]*)")
FIRST = "Greenplum Database"
"""The name that some forks keep beside their own."""
GENERATION_7 = 120000
"""server_version_num of PostgreSQL 12; Cloudberry is on 14. What is older is of generation 6, on 9.4."""
TRIED = {(FIRST, 6): "6.24.3", ("MatrixDB", 7): "5.0.0-community~alpha, of Greenplum 7.0.0's development"}
"""Product and generation -> the version with which the engine's contract was tried."""
ACCESS_METHODS = {"ao_row": "append_row", "ao_column": "append_column", "pax": "pax"}
"""Table access methods -> our names. Generation 6 has the first two without such names."""


def product_of(version: str) -> tuple[str, str]:
    """Name and version from ``version()``: ``("Greenplum Database", "6.24.3")``. A fork's own name goes first."""
    found = [(match["name"], match["version"]) for match in PRODUCT.finditer(version.split(" on ", maxsplit=1)[0])]
    return next((each for each in found if each[0] != FIRST), found[0] if found else ("unknown", "unknown"))


def generation_of(version_number: int) -> int:
    """6 or 7, by the PostgreSQL that it is made of."""
    return 7 if version_number >= GENERATION_7 else 6


def features(facts: Mapping[str, Any]) -> list[Feature]:
    """What a cluster is and has, as far as it reported."""
    if not facts.get("product"):
        return []
    utilities = ", ".join(facts.get("utilities") or ()) or "none that run; pg_ctl stops and starts the instances"
    return [
        _member(facts),
        Feature("storage", f"{', '.join(_storages(facts))}; compression {facts.get('compresstypes')}"),
        Feature("optimizer", str(facts.get("orca", "unknown"))),
        Feature("interconnect", str(facts.get("interconnect", "unknown"))),
        Feature("utilities", utilities),
    ]


def _member(facts: Mapping[str, Any]) -> Feature:
    product, generation = str(facts["product"]), int(facts.get("generation", 0))
    based_on = str(facts.get("version", "")).split(" (")[0]
    said = f"{product} {facts.get('product_version')}, generation {generation}, on {based_on}"
    if tried := TRIED.get((product, generation)):
        return Feature("product", f"{said}; tried was {tried}")
    remedy = "clusterbench was never tried on it: 'make test-engine PLATFORM=…' does, not where others work"
    return Feature("product", said, remedy)


def _storages(facts: Mapping[str, Any]) -> list[str]:
    found = str(facts.get("access_methods") or "").split(", ")
    named = [ours for method, ours in ACCESS_METHODS.items() if method in found]
    return ["heap", *(named if facts.get("generation") == 7 else ["append_row", "append_column"])]
