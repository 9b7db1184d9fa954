"""What a trial is measured on: a platform whose hosts and engines are connected, and the archive of its run."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from clusterbench.base.archive import RunArchive
from clusterbench.engines import Engine
from clusterbench.hosts.conformance import ENGINE
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec import Platform

log = logging.getLogger(__name__)


@dataclass
class Testbed:
    """One platform, connected; where the record of a trial goes; and how long its phases took."""

    __test__ = False  # pytest takes it for tests otherwise

    platform: Platform
    fleet: Fleet
    engine: Engine
    archive: RunArchive
    neighbours: Mapping[str, Engine] = field(default_factory=dict)
    """Of the platform, by name; each is under the trial's load while it is measured (``neighbours.py``)."""
    unavailable_on_hosts: Mapping[str, str] = field(default_factory=dict)
    """What cannot be had because of what the hosts are, as ``Engine.unavailable``."""
    phases_s: dict[str, float] = field(default_factory=dict)

    @property
    def unavailable(self) -> dict[str, str]:
        """What cannot be measured here, with the reason: because of the engine or because of the hosts."""
        return {**self.engine.unavailable, **self.unavailable_on_hosts}

    @property
    def engines(self) -> dict[str, Engine]:
        """The one that is measured, and its neighbours, by what they are called beside hosts."""
        return {ENGINE: self.engine} | {f"{ENGINE} of {name}": one for name, one in self.neighbours.items()}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note how long a phase took. Results are not made of these times."""
        log.info("%s …", name.replace("_", " "))
        begun = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - begun
