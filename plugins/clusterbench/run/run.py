"""One execution of one experiment: its archive, its plan, and the testbeds it measures on."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import Connections
from clusterbench.base.errors import ArchiveError
from clusterbench.base.paths import project_root
from clusterbench.engines import Engine, engine_class
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import Plan
from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)


class Run:
    """One execution of one experiment, known by its id; everything else is in its archive."""

    def __init__(self, experiment: str, run_id: str, connections: Connections) -> None:
        self.experiment, self.run_id, self.connections = experiment, run_id, connections
        self.catalog = Catalog(project_root())
        self.archive = RunArchive(Store.of(connections(CONNECTION_ID)), experiment, run_id)

    @property
    def holder(self) -> str:
        return f"{self.experiment}/{self.run_id}"

    def plan(self) -> Plan:
        return Plan.from_json(self.archive.need_json("plan.json"))

    @contextmanager
    def testbed(self, platform_name: str) -> Iterator[Testbed]:
        """Hosts and engine of a platform, connected for as long as the block lasts."""
        platform = self.catalog.platform(platform_name)
        known = self.archive.get_json(f"platforms/{platform_name}/facts.json") or {}
        with Fleet.of(platform, self.connections) as fleet:
            engine = self._engine(platform, fleet, known.get("engine"))
            beside = {
                name: self._engine(platform.neighbour(name), fleet, (known.get("neighbours") or {}).get(name))
                for name in platform.neighbours
            }
            yield Testbed(platform, fleet, engine, self.archive, beside, known.get("lacks") or {})

    def _engine(self, platform: Platform, fleet: Fleet, known: Mapping[str, Any] | None) -> Engine:
        database = self.connections(platform.database) if platform.database else None
        return engine_class(platform.engine)(platform, fleet, database, known)

    def note_error(self, step: str, error: Exception, platform: str = "run") -> None:
        """Keep an error for the report; the archive being away must not hide it, and a sealed one stays as it is."""
        try:
            if self.archive.sealed:
                return
            when = datetime.now(UTC).isoformat(timespec="milliseconds")
            said = {"step": step, "platform": platform, "error": str(error), "at": when}
            self.archive.put_json(f"errors/{platform}/{step}/{when}.json", said)
        except ArchiveError as unreachable:
            log.warning("the error could not be archived: %s", unreachable)
