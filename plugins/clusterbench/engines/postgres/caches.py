"""The caches of the database and of the file systems: filling them, emptying them, and what is in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from clusterbench.base.scripts import script
from clusterbench.base.sql import raw, statement
from clusterbench.engines import Residency
from clusterbench.engines.postgres import extensions
from clusterbench.engines.postgres.server import Server
from clusterbench.engines.postgres.tables import leaves, regclasses
from clusterbench.hosts.fleet import DROP_PAGE_CACHE

DROPPING = (
    "dropping the page cache needs root on the host: allow it in sudoers, or declare 'page_cache: evict_files' in the "
    "platform's file"
)


def warm(server: Server, relations: Sequence[str]) -> None:
    """Into the file system's cache, then into the database's: what is in the latter already is not read again."""
    extensions.have(server, "pg_prewarm")
    content, pg_class = raw(server.content_of_row), raw(server.everywhere("pg_class"))
    found = leaves(server, relations)
    for cache in ("read", "buffer") if found else ():
        server.look_up(
            statement(
                "postgres", "prewarm", content=content, pg_class=pg_class, relations=regclasses(found), cache=cache
            )
        )


def empty_file_system_cache(server: Server) -> None:
    """Of all of the database's files, as the platform's file allows it."""
    if server.platform.page_cache == "drop_caches":
        server.on_hosts(DROP_PAGE_CACHE, DROPPING)
    else:
        remedy = "the login must own the server's files"
        oid = int(server.fact("database_oid"))
        evict = server.instance_scripts("postgres/evict", server.known_instances(), database_oid=oid)
        forget = script("hosts/forget_pages")
        server.on_each({host: forget + text for host, text in evict.items()}, remedy)


def residency(server: Server, relations: Sequence[str]) -> Residency | None:
    """How much of the relations is in memory, over all instances; None where no host can be asked."""
    if not server.platform.database_hosts:
        return None
    files = _relation_files(server, relations)
    resident, total = _in_file_system_cache(server, files)
    return Residency(total, _buffered_bytes(server, files), resident)


def _relation_files(server: Server, relations: Sequence[str]) -> list[dict[str, Any]]:
    """(content, path, filenode) of every relation and of its TOAST table, on every instance that has rows."""
    found = statement(
        "postgres",
        "relation_files",
        content=raw(server.content_of_row),
        pg_class=raw(server.everywhere("pg_class")),
        relations=regclasses(leaves(server, relations)),
    )
    return [row for row in server.look_up(found) if _is_data_path(row["path"])]


def _is_data_path(path: str | None) -> bool:
    return bool(path) and re.fullmatch(r"[A-Za-z0-9_./]+", str(path)) is not None


def _buffered_bytes(server: Server, files: Sequence[Mapping[str, Any]]) -> int:
    extensions.have(server, "pg_buffercache")
    if not files:
        return 0
    found = server.look_up(
        statement(
            "postgres",
            "buffered",
            content=raw(server.content_of_row),
            pg_buffercache=raw(server.everywhere("pg_buffercache")),
            database_oid=int(server.fact("database_oid")),
        )
    )
    wanted = {(row["content"], row["filenode"]) for row in files}
    return sum(int(row["bytes"]) for row in found if (row["content"], row["filenode"]) in wanted)


def _in_file_system_cache(server: Server, files: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Bytes of the files that are in memory, and in all."""
    scripts: dict[str, str] = {}
    by_content: dict[Any, list[str]] = {}
    for row in files:
        by_content.setdefault(row["content"], []).append(row["path"])
    for instance in server.known_instances():
        if instance.host is None or instance.role != "p":
            continue
        if paths := by_content.get(instance.content):
            before = scripts.get(instance.host, script("postgres/pages_in_memory"))
            scripts[instance.host] = before + look_at(instance.data_directory, paths)
    answers = server.on_each(scripts, "fincore (Debian package util-linux-extra) must be there")
    pairs = [line.split() for said in answers.values() for line in said.splitlines() if line.strip()]
    return sum(int(pair[0]) for pair in pairs), sum(int(pair[1]) for pair in pairs)


def look_at(directory: str, paths: Sequence[str]) -> str:
    """Bash after ``postgres/pages_in_memory``: bytes in memory, and in all, of these files and their parts."""
    names = "\n".join(paths)
    return f"pages_in_memory {quote(directory)} <<'NAMES'\n{names}\nNAMES\n"
