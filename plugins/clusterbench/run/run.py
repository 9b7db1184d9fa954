"""One execution of one experiment: its archive, its plan, and the testbeds it measures on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.clock import now_iso
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import ArchiveError, Awaited, ClusterbenchError
from clusterbench.base.patience import NONE, Outage, Patience
from clusterbench.engines import Engine, engine_class
from clusterbench.hosts.fleet import Fleet
from clusterbench.machines.guests import reaching, without_machines
from clusterbench.machines.hypervisors import hypervisor_of
from clusterbench.machines.provider import Guest
from clusterbench.machines.switch import guests_now
from clusterbench.results.machine_notes import Notes
from clusterbench.spec import Platform
from clusterbench.spec.catalog import project_catalog
from clusterbench.trial.plan import Plan
from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)

PATIENCE_MINUTES = "CLUSTERBENCH_PATIENCE_MINUTES"
"""Of an installation, for hosts and databases, whatever platforms' files say."""
ARCHIVE_HOURS = 24.0
"""How long an archive that is away is waited for, unless its connection says otherwise."""
BY_HAND = "by_hand"
"""The experiment of what a person does at the command line, which has no archive."""
IN_VAIN_MINUTES = 60
"""So long after somebody was waited for in vain no trial waits for them again: a run's other trials shall end, too."""


@contextmanager
def connected(
    platform: Platform,
    connections: Connections,
    known: Mapping[str, Any],
    guests: Mapping[str, Guest] | None = None,
) -> Iterator[tuple[Fleet, list[Engine]]]:
    """Hosts and engines of a platform, its own engine first, then its neighbours'. ``known``: facts of set-up.

    ``guests``: of machines that are made, as they told when they came up; None: their hypervisor is asked now.
    """
    beside = known.get("neighbours") or {}
    if guests is None:
        guests = _guests_now(platform, connections)
    connections = reaching(platform, connections, guests)
    with Fleet.of(platform, connections) as fleet:
        own = _engine(platform, fleet, connections, known.get("engine"))
        others = [
            _engine(platform.neighbour(name), fleet, connections, beside.get(name)) for name in platform.neighbours
        ]
        yield fleet, [own, *others]


def _guests_now(platform: Platform, connections: Connections) -> Mapping[str, Guest]:
    if platform.machines is None:
        return {}
    with hypervisor_of(platform.machines, connections) as hypervisor:
        return guests_now(platform, hypervisor)


def _engine(platform: Platform, fleet: Fleet, connections: Connections, known: Mapping[str, Any] | None) -> Engine:
    database = _database(platform.database, platform, fleet, connections)
    driver = _database(platform.driver_database, platform, fleet, connections)
    engine = engine_class(platform)(platform, fleet, database, known, driver)
    engine.connections = connections
    return engine


def _database(conn_id: str | None, platform: Platform, fleet: Fleet, connections: Connections) -> Connection | None:
    """One without a host is where the platform's coordinator is: of a machine that is made nobody knew the address."""
    if conn_id is None:
        return None
    found = connections(conn_id)
    coordinators = platform.hosts_with("coordinator")
    if found.host or not coordinators or not platform.machines:
        return found
    return replace(found, host=fleet.addresses[coordinators[0]].host)


class Run:
    """One execution of one experiment, known by its id; everything else is in its archive."""

    def __init__(self, experiment: str, run_id: str, connections: Connections) -> None:
        self.experiment, self.run_id, self.connections = experiment, run_id, connections
        self.catalog = project_catalog()
        self.archive = RunArchive(Store.of(connections(CONNECTION_ID)), experiment, run_id)
        self.patience = NONE
        self._plan: Plan | None = None

    @property
    def holder(self) -> str:
        return f"{self.experiment}/{self.run_id}"

    def plan(self) -> Plan:
        """Read once, as it is written once: of 2,000 trials it takes half a second."""
        if self._plan is None:
            self._plan = Plan.from_json(self.archive.need_json("plan.json"))
        return self._plan

    @contextmanager
    def testbed(self, platform_name: str) -> Iterator[Testbed]:
        """Hosts and engine of a platform, connected for as long as the block lasts."""
        platform = self.catalog.platform(platform_name)
        known = self.archive.get_json(f"platforms/{platform_name}/facts.json") or {}
        guests: Mapping[str, Guest] | None = {}
        if platform.machines:
            guests = None if self.experiment == BY_HAND else Notes(self.archive, platform_name).guests()
            platform = platform if guests is None or guests else without_machines(platform)
        with connected(platform, self.connections, known, guests) as (fleet, (engine, *beside)):
            neighbours = dict(zip(platform.neighbours, beside, strict=True))
            yield Testbed(platform, fleet, engine, self.archive, neighbours, known.get("lacks") or {})

    def note_error(self, step: str, error: Exception, platform: str = "run") -> None:
        """Keep an error for the report; the archive being away must not hide it, and a sealed one stays as it is."""
        when = now_iso()
        self._note(
            f"errors/{platform}/{step}/{when}.json",
            {"step": step, "platform": platform, "error": str(error), "at": when},
        )

    def _note(self, key: str, said: Mapping[str, Any]) -> None:
        store = replace(self.archive.store, patience=NONE)
        archive = RunArchive(store, self.experiment, self.run_id)
        try:
            if not archive.sealed:
                archive.put_json(key, said)
        except ArchiveError as unreachable:
            log.warning("%s could not be archived: %s", key, unreachable)

    # Outages.

    def wait_for_who_is_away(
        self, hear: Callable[[Outage], None], step: str, platform: str = "run", trial: str = ""
    ) -> None:
        """From now on. Who was waited for, by which step or before which trial, is archived for the report.

        Not while the archive is sealed, when an object more would be one too many.
        """

        def both(outage: Outage) -> None:
            hear(outage)
            if outage.until and step != "seal_archive":
                said = {**outage.as_json(), "step": step, "platform": platform, "trial": trial}
                self._note(f"outages/{platform}/{step}/{outage.as_json()['since']}-{outage.awaited}.json", said)

        self.patience = Patience(lambda awaited: self._limit_s(awaited, platform), both)
        self.archive = RunArchive(replace(self.archive.store, patience=self.patience), self.experiment, self.run_id)

    def _limit_s(self, awaited: Awaited, platform_name: str) -> float:
        if awaited == "archive":
            return 3600 * _archive_hours(self.connections)
        if platform_name == "run":
            return 0.0
        patience = self.catalog.platform(platform_name).patience
        minutes = patience.hosts_minutes if awaited == "hosts" else patience.database_minutes
        minutes = float(os.environ.get(PATIENCE_MINUTES) or minutes)
        return 0.0 if self._was_in_vain(awaited, platform_name) else 60 * minutes

    def _was_in_vain(self, awaited: Awaited, platform: str) -> bool:
        """By an earlier step or trial of this run, and not long ago."""
        lately = datetime.now(UTC) - timedelta(minutes=IN_VAIN_MINUTES)
        ended = [Outage.from_json(noted) for noted in self.archive.outages() if noted["platform"] == platform]
        return any(
            each.awaited == awaited and not each.is_over and each.until and each.until > lately for each in ended
        )


def _archive_hours(connections: Connections) -> float:
    said = connections(CONNECTION_ID).extra.get("patience_hours", ARCHIVE_HOURS)
    try:
        hours = float(said)
    except (TypeError, ValueError):
        hours = -1.0
    if not 0 <= hours <= 10_000:
        raise ClusterbenchError(
            f"connection {CONNECTION_ID!r}: 'patience_hours' of its extra is {said!r}; it must be a number from 0 to "
            "10000"
        )
    return hours
