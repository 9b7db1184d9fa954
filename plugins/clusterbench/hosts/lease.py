"""One run at a time on a cluster: a note on each of its hosts, made by whoever holds it, named in every refusal.

Airflow's pool keeps two tasks apart; the lease keeps two runs apart, also of different Airflows, files, logins and
clients. A host that does the cluster's work has a note of its own, known by its host key: whoever calls it by which
name finds the same one. The client has one for the cluster's name. Notes are in a folder that all logins share.

A cluster that could not be put back as it was found stays held, and says so, until somebody has looked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clusterbench.base.errors import ClusterbenchError, LeaseError
from clusterbench.base.scripts import script
from clusterbench.hosts.address import Address
from clusterbench.hosts.fleet import Fleet, raise_all
from clusterbench.spec import Platform
from clusterbench.spec.machine_layout import machine_hosts

FOLDER = "/var/tmp"  # noqa: S108  it outlives a restart, and every login may write there


@dataclass(frozen=True)
class Held:
    """What a note says."""

    holder: str
    since: str
    left_changed: str = ""
    """What could not be put back, where the holder has gone and left it."""
    platform: str = ""
    """As which platform the holder measures the cluster."""

    def __str__(self) -> str:
        return f"{self.holder} since {self.since}"


UNREADABLE = Held("somebody whose note is unreadable", "some time")


def acquire(fleet: Fleet, platform: Platform, holder: str) -> None:
    """Take all of the cluster for ``holder``, a run's id, or none of it. Taking it twice is the same as once.

    Raises LeaseError with who has it.
    """
    first, *others = _notes(fleet, platform).items()
    taken = _take(fleet, platform, dict([first]), holder)
    try:
        _take(fleet, platform, dict(others), holder)
    except ClusterbenchError:
        _give_back(fleet, taken, holder)
        raise


def hold(fleet: Fleet, platform: Platform, holder: str) -> None:
    """As ``acquire``, of one that was acquired before: only the client's note is looked at, at little cost."""
    (client, notes), *_ = _notes(fleet, platform).items()
    _take(fleet, platform, {client: notes}, holder)


def holder_of(fleet: Fleet, platform: Platform) -> Held | None:
    """Who has the cluster, or any host of it; None when it is free."""
    for answer in fleet.run_each(_scripts("look", _notes(fleet, platform))).values():
        for line in answer.output.splitlines():
            return _read(line)
    return None


def release(fleet: Fleet, platform: Platform, holder: str, keep: Collection[str] = ()) -> bool:
    """Give the cluster back, if ``holder`` has it; whoever has it, where that is empty. Returns whether any had.

    ``keep``: names of notes that stay, as another platform of the run needs them, too.

    Raises HostError where a note belongs to another login, which must remove it.
    """
    notes = {host: [n for n in names if n not in keep] for host, names in _notes(fleet, platform).items()}
    return bool(_remove(fleet, {host: names for host, names in notes.items() if names}, holder))


def notes_of(fleet: Fleet, platform: Platform) -> set[str]:
    """Names of all notes of a cluster. Two platforms that share a host that drives load share its note."""
    return {name for names in _notes(fleet, platform).values() for name in names}


def same_server(fleet: Fleet, platform: Platform, beside: Fleet, other: Platform) -> tuple[str, str] | None:
    """A host of each platform that are one by their key, and that runs an engine of either."""
    known: dict[str, list[str]] = {}
    for name in other.every_host:
        known.setdefault(_identity(beside.addresses[name]), []).append(name)
    engines, others = set(platform.engine_hosts), set(other.engine_hosts)
    for name in platform.every_host:
        for twin in known.get(_identity(fleet.addresses[name]), ()):
            if name in engines or twin in others:
                return name, twin
    return None


def leave_changed(fleet: Fleet, platform: Platform, holder: str, why: str) -> None:
    """Keep the cluster held, because it is not as it was found; ``why`` is in every refusal."""
    note = _note(platform, holder, left_changed=why)
    scripts = _scripts("rewrite", _notes(fleet, platform), holder=json.dumps(holder), note=note)
    fleet.try_each(scripts)  # some of its hosts may be what cannot be reached


def _notes(fleet: Fleet, platform: Platform) -> dict[str, list[str]]:
    """Host -> names of its notes, the client first."""
    client = _identity(fleet.addresses[platform.client])
    found = {platform.client: [f"clusterbench.cluster.{platform.cluster}.{client}"]}
    made = machine_hosts(platform)  # ours alone, by their mark, and not up when the cluster is taken
    for name in (host for host in platform.engine_hosts if host not in made):
        found.setdefault(name, []).append(f"clusterbench.host.{_identity(fleet.addresses[name])}")
    return found


def _scripts(action: str, notes: Mapping[str, list[str]], **values: str) -> dict[str, str]:
    """Host -> ``include/hosts/lease_<action>.sh`` for its notes."""
    return {
        host: script(f"hosts/lease_{action}", folder=FOLDER, notes=names, **values) for host, names in notes.items()
    }


def _identity(address: Address) -> str:
    """Of a host: its key, else where it is."""
    known = address.host_key or f"{address.host}:{address.port}"
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def _take(fleet: Fleet, platform: Platform, notes: Mapping[str, list[str]], holder: str) -> dict[str, list[str]]:
    """Host -> the notes that were not there before.

    Raises LeaseError where somebody has one, HostError where a host could not be asked: with none of these taken.
    """
    scripts = _scripts("acquire", notes, note=_note(platform, holder))
    taken: dict[str, list[str]] = {}
    others: list[tuple[str, Held]] = []
    answers, failures = fleet.ask_each(scripts)
    for host, answer in answers.items():
        for line in answer.output.splitlines():
            name, made, said = line.split(" ", 2)
            held = _read(said)
            if made == "made":
                taken.setdefault(host, []).append(name)
            elif held.holder != holder:
                others.append((host, held))
    if others or failures:
        _give_back(fleet, taken, holder)
    if others:
        host, held = others[0]
        by = () if held.left_changed else (held.holder, held.platform)
        raise LeaseError(_refusal(platform, host, held), *by)
    raise_all(failures.values())
    return taken


def _give_back(fleet: Fleet, notes: Mapping[str, list[str]], holder: str) -> None:
    """What was taken just now; a host that is lost meanwhile keeps its note, and the run takes it again later."""
    fleet.ask_each(_scripts("release", notes, holder=json.dumps(holder)))


def _refusal(platform: Platform, host: str, held: Held) -> str:
    free = f"clusterbench release {platform.platform} {'--force' if held == UNREADABLE else held.holder}"
    if held.left_changed:
        return (
            f"cluster {platform.cluster!r} was left changed by run {held}: {held.left_changed}\n  Look at it, put it "
            f"back, and then free the cluster with: {free}"
        )
    return (
        f"cluster {platform.cluster!r} is held by run {held} (according to its host {host!r}); wait until it ends, "
        f"or, if it died, free the cluster with: {free}"
    )


def _remove(fleet: Fleet, notes: Mapping[str, list[str]], holder: str) -> list[str]:
    noted = json.dumps(holder) if holder else ""
    answers = fleet.run_each(_scripts("release", notes, holder=noted))
    return [line for answer in answers.values() for line in answer.output.split()]


def _note(platform: Platform, holder: str, **more: str) -> str:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"holder": holder, "since": since, "platform": platform.platform, **more})


def _read(note: str) -> Held:
    try:
        said: dict[str, Any] = json.loads(note)
        return Held(said["holder"], said["since"], said.get("left_changed", ""), said.get("platform", ""))
    except (ValueError, KeyError):
        return UNREADABLE
