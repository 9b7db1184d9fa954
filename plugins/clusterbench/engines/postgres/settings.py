"""The server's own settings: our block in its configuration files, and the values in force."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping

from clusterbench.base.errors import EngineError
from clusterbench.engines.postgres.server import Server

RELOAD_S = 5
SETTING_NAME = re.compile(r"^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$")

PRIVATE_SETTING = re.compile("conninfo|_command$|passw|passphrase|secret|token|credential|key$|_key_")
PUBLIC_EXTENSIONS = ("auto_explain.", "pg_prewarm.", "pg_stat_statements.", "plpgsql.", "clusterbench.")
"""Of other extensions nobody here knows which settings hold a secret."""
NOT_ARCHIVED = "(set; not archived, it may hold a password)"

ASYNCHRONOUS_IO = ("io_method", "io_workers", "effective_io_concurrency", "maintenance_io_concurrency")
"""Told also where they are the defaults, of servers that have them all: from version 18 on reads are made by workers,
by io_uring or by the session itself, and so the same statement takes other times."""

KEPT, RELEASED = "# clusterbench begin: kept", "# clusterbench begin: until the cluster is released"


def write(server: Server, settings: Mapping[str, str], config_file: str) -> set[str]:
    """Have exactly these in our block of every instance's configuration file.

    Nothing takes out what another platform's file says is to be kept; this platform's own settings replace it.
    ``config_file`` is that of the only server; empty: each has its own beside its data. Returns the names of the
    settings that came, changed or went; they are not in force yet.
    """
    if not server.platform.database_hosts:
        return set()
    if wrong := [name for name in settings if not SETTING_NAME.match(name)]:
        raise EngineError(f"{server.where}: {wrong[0]!r} is not the name of a setting; correct 'settings' in its file")
    said = server.on_instances(
        "postgres/configure",
        server.known_instances(),
        "nothing was changed there: the server refuses a value of 'settings', or the login does not own the file",
        wanted=block(settings, keep=server.platform.setup.keep),
        config_file=config_file,
        replaced=f"^{RELEASED}",
    ).values()
    words = {word for output in said for word in output.splitlines()}
    return (words - {"changed"}) | set(settings) if "changed" in words else set()


def block(settings: Mapping[str, str], *, keep: bool) -> str:
    """The block of these settings for postgresql.conf; nothing for none.

    In that file a quote is written twice, and a backslash, which begins an escape there, too.
    """
    written = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()}
    lines = [f"{name} = '{value}'" for name, value in written.items()]
    return "\n".join([KEPT if keep else RELEASED, *lines, "# clusterbench end", ""]) if lines else ""


def need_restart(server: Server, names: Collection[str]) -> bool:
    """Whether one of them is read at start only."""
    rows = server.query("SELECT name FROM pg_settings WHERE context = 'postmaster'")
    return bool({row["name"] for row in rows} & set(names))


def reload(server: Server, settings: Mapping[str, str]) -> None:
    """Have the server read its files, and wait until these are in force."""
    server.on_instances("postgres/reload", server.known_instances(), "the login must own the server's files")
    until = time.monotonic() + RELOAD_S  # it is told, and reads when it comes to it
    while in_force(server, settings) != dict(settings) and time.monotonic() < until:
        time.sleep(0.1)


def in_force(server: Server, names: Iterable[str]) -> dict[str, str]:
    """The values of these settings; unknown names are left out."""
    rows = server.query("SELECT name, current_setting(name) AS value FROM pg_settings")
    found = {row["name"]: row["value"] for row in rows}
    return {name: found[name] for name in names if name in found}


def changed(server: Server) -> dict[str, str]:
    """Settings that differ from their defaults, as they may be archived."""
    found = server.query(
        "SELECT name, current_setting(name) AS value FROM pg_settings "
        "WHERE source NOT IN ('default', 'client', 'override', 'session') ORDER BY name"
    )
    return {row["name"]: public_value(row["name"], row["value"]) for row in found}


def asynchronous_io(server: Server) -> dict[str, str]:
    """How reads are made; empty before version 18, when each session made its own."""
    found = in_force(server, ASYNCHRONOUS_IO)
    return found if "io_method" in found else {}


def public_value(setting: str, value: str) -> str:
    """What of a server's setting may be archived: a connection string, a command or a key may hold a password."""
    of_extension = "." in setting and not setting.startswith(PUBLIC_EXTENSIONS)
    return NOT_ARCHIVED if value and (of_extension or PRIVATE_SETTING.search(setting)) else value
