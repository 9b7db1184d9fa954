"""The database as set-up and drivers reach it, who owns it, who else is on it; and the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clusterbench.base.archive import Store
from clusterbench.base.errors import ArchiveError, ClusterbenchError, EngineError
from clusterbench.engines import Engine
from clusterbench.run.doctor.finding import Finding
from clusterbench.spec.by_name import engine_declaration
from clusterbench.spec.leave import LEAVES


def examine(engine: Engine) -> Iterator[Finding]:
    """Raises nothing: what fails is a finding. A server that is down is not started, whatever the file allows."""
    for surface in engine.exposed:
        yield Finding(
            "open to the network", "hosts", surface, "look", "let nobody else reach that network during a run"
        )
    if engine_declaration(engine.platform.engine).settings_from_templates and not engine.platform.is_managed:
        yield Finding(
            "engine", "hosts", f"{engine.title} is configured and started for each run; it is not checked now"
        )
        return
    engine.platform = engine.platform.model_copy(update={"may": []})
    try:
        known = engine.facts()
    except ClusterbenchError as error:
        yield Finding("engine", "database", str(error), "bad", "correct what the message names")
        return
    yield Finding("engine", "database", str(known.get("version", "")).split(" on ")[0])
    checks: Sequence[Callable[[Engine, Mapping[str, Any]], Iterator[Finding]]] = (
        _owner,
        _memory,
        _log,
        _driver,
        _let_in,
        _others,
    )
    for check in checks:
        try:
            yield from check(engine, known)
        except EngineError as error:
            yield Finding(check.__name__.strip("_"), "database", str(error), "bad", "correct what the message names")


def _owner(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:
    units, declared = sorted(set((known.get("units") or {}).values())), engine.platform.service
    if units and not declared:
        found = f"the server belongs to the unit {', '.join(units)}"
        yield Finding("service", "database", found, "bad", f"write 'service: {units[0].removesuffix('.service')}'")
    elif declared and not units:
        found = f"'service: {declared}', and the server belongs to no unit"
        yield Finding("service", "database", found, "bad", "correct 'service', or start the server as that service")
    elif units and f"{declared}.service" not in units and declared not in units:
        found = f"'service: {declared}', and the server belongs to {', '.join(units)}"
        yield Finding("service", "database", found, "bad", "correct 'service'")
    elif engine.platform.database:
        yield Finding("service", "database", f"belongs to {declared}" if declared else "belongs to no unit")


def _memory(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:  # noqa: ARG001  as all
    if losing := known.get("losing_memory"):
        found = f"is removed when the last session of the server's user ends: {', '.join(losing)}"
        remedy = "set 'RemoveIPC=no' in /etc/systemd/logind.conf and restart systemd-logind; else sessions are refused"
        yield Finding("shared memory", "database", found, "bad", remedy)


def _log(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:  # noqa: ARG001  as all
    """Where no host tells it, nothing is said."""
    if place := known.get("wal_place"):
        yield Finding("write-ahead log", "database", str(place))


def _driver(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:
    """Their role and session; then which parts of its kind the engine has, of which some are of that role."""
    found = engine.driver_facts()
    if not found:
        return
    login = found["driver_login"]
    if found["driver_is_superuser"]:
        remedy = "name a 'driver_database' with a login that is no superuser: superusers have other limits than users"
        yield Finding("drivers' role", "database", f"{login}, a superuser", "look", remedy)
    else:
        yield Finding("drivers' role", "database", f"{login}, no superuser")
    session = found["driver_session"]
    if session["tls"] == "none":
        yield Finding(
            "drivers' session",
            "client",
            "not encrypted",
            "look",
            "set 'sslmode' of the connection if it should be encrypted",
        )
    else:
        yield Finding("drivers' session", "client", f"{session['tls']}, {session.get('cipher', 'cipher unknown')}")
    for feature in engine.features({**known, **found}):
        yield Finding(feature.what, "database", feature.found, "look" if feature.remedy else "good", feature.remedy)


def _let_in(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:  # noqa: ARG001  as all
    """Of a Hadoop: whether it asks who somebody is, and what it encrypts. Databases tell it by the drivers' session."""
    if security := known.get("security"):
        asks = security.get("hadoop.security.authentication", "simple") != "simple"
        found = ", ".join(f"{name.removeprefix('hadoop.')} {value}" for name, value in security.items())
        remedy = "" if asks else "it does not check who a user is; let nobody else reach its network"
        yield Finding("who is let in", "engine", found, "good" if asks else "look", remedy)


def _others(engine: Engine, known: Mapping[str, Any]) -> Iterator[Finding]:  # noqa: ARG001  as all
    others = engine.others()
    if others:
        remedy = "they disturb the measurement, and the server is not restarted while they exist"
        yield Finding("other sessions", "database", ", ".join(others), "look", remedy)
    elif engine.platform.database or engine.platform.is_managed:
        yield Finding("other sessions", "database", "none")


def examine_leave(engine: Engine) -> Iterator[Finding]:
    """What the platform's file allows, and what it does not."""
    may = engine.platform.may
    left = [leave for leave in LEAVES if leave not in may]
    yield Finding("may", "platform", ", ".join(may) or "look only")
    if left:
        yield Finding("may not", "platform", ", ".join(left), "look", "trials that need these are not applicable")


def examine_archive(store: Store) -> Iterator[Finding]:
    """Whether it refuses to write over what is there: by writing twice."""
    try:
        store.check_conditional_writes()
    except ArchiveError as error:
        yield Finding(
            "archive",
            "archive",
            str(error),
            "bad",
            "correct what the message names, or connection 'clusterbench_archive'",
        )
        return
    yield Finding("archive", "archive", f"{store.url}: existing objects are not overwritten (If-None-Match)")
