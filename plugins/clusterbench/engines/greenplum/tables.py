"""Greenplum's tables: their layout, distribution and partitions. Generation 6's syntax, which 7 reads, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.datasets import Storage
from clusterbench.base.sql import quoted, statement
from clusterbench.engines.postgres.server import Server


def definition(table: str, columns: str, storage: Storage) -> str:
    """The statement that makes it. A heap is asked for, too: a role or a database may have another default. Pure."""
    options = ["appendonly=false"] if storage.layout == "heap" else []
    if storage.layout.startswith("append_"):
        options = ["appendonly=true", f"orientation={storage.layout.removeprefix('append_')}"]
    if storage.compression != "none":
        options += [f"compresstype={storage.compression}", f"compresslevel={storage.level}"]
    kept = ("USING pax " if storage.layout == "pax" else "") + (f"WITH ({', '.join(options)}) " if options else "")
    by = storage.distributed_by
    spread = f"DISTRIBUTED BY ({quoted(by)})" if by else "DISTRIBUTED REPLICATED"
    return f"CREATE TABLE {quoted(table)} ({columns}) {kept}{spread}" + _partitions(storage)


def _partitions(storage: Storage) -> str:
    if not storage.partitions:
        return ""
    parts = ",\n".join(
        f"  PARTITION {quoted(part.name)} START ('{part.start}') INCLUSIVE END ('{part.end}') EXCLUSIVE"
        for part in storage.partitions
    )
    return f"\nPARTITION BY RANGE ({quoted(storage.partitioned_by)}) (\n{parts}\n)"


def unavailable(facts: Mapping[str, Any]) -> dict[str, str]:
    """Layouts and compressions that a server does not know, as far as it reported. Pure."""
    known = facts.get("compresstypes")
    types = ("zlib", "zstd") if known is not None else ()
    lacks = {
        name: f"this server has no compresstype {name}; it has {known}"
        for name in types
        if name not in str(known).split(", ")
    }
    if facts.get("has_pax") is False:
        lacks["pax"] = (
            f"{facts.get('product', 'this server')} has no access method pax; Cloudberry has, if built with it"
        )
    return lacks


def is_append_optimised(server: Server, relation: str) -> bool:
    """Also in PAX: the database caches heaps only."""
    found = server.query(statement("greenplum", "append_optimised", relation=quoted(relation)))
    return bool(found[0]["found"])
