"""The 24 tables of TPC-DS, from ``include/sql/tpcds/tables.yaml``: of what they are, and how they are kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clusterbench.workloads.tables import Table, read


@cache
def tables() -> Mapping[str, Table]:
    """All of them by name."""
    return {
        name: Table(
            name,
            columns=said["columns"],
            key=tuple(said["key"]),
            distributed_by=said["distributed_by"],
            indexes=tuple(said.get("indexes", ())),
            references=said.get("references", {}),
        )
        for name, said in read("tpcds").items()
    }
