"""How fast a platform's hosts are by themselves: measured in set-up at a declared rhythm, kept, and compared.

What was measured is an object of its own, ``_host_speeds/<platform>/<time>-<run id>.json``, because many runs use it;
each run's archive says which it was and which hosts it names (``platforms/<platform>/host_speeds.json``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import Store
from clusterbench.base.in_parallel import in_parallel
from clusterbench.hosts import facts, speed
from clusterbench.hosts.speed_kinds import FOLDER
from clusterbench.results import stragglers
from clusterbench.results.stragglers import EARLIER_MAX, Straggler
from clusterbench.spec.platform import HostSpeed

if TYPE_CHECKING:
    from clusterbench.spec.platform import Platform
    from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)


def of_set_up(store: Store, testbed: Testbed, engine_facts: Mapping[str, Any], run_id: str) -> dict[str, Any] | None:
    """What is known of the hosts' speeds, measured now where that is due; None where nothing is declared."""
    platform = testbed.platform
    declared = platform.host_speed
    if declared is None:
        return None
    known = earlier(store, platform.platform)
    if not known or _at(known[-1]) < datetime.now(UTC) - timedelta(days=declared.every_days):
        known.append(measure_now(store, testbed, engine_facts, run_id))
    said = told(known, platform)
    for problem in (one for many in known[-1]["problems"].values() for one in many):
        log.warning("speed of hosts: %s", problem)
    for one in said:
        log.warning("a slow host: %s", one)
    slow_in = stragglers.slow_in(said, testbed.fleet.names)
    return {**known[-1], "stragglers": [one.as_json() for one in said], "slow_in": slow_in}


def measure_now(store: Store, testbed: Testbed, engine_facts: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    """As the platform's file says, or within the usual bounds; kept."""
    platform, now = testbed.platform, datetime.now(UTC)
    declared = platform.host_speed or HostSpeed()
    found = speed.measure(testbed.fleet, platform, declared, folders(testbed, engine_facts))
    measured = {
        "at": now.isoformat(timespec="seconds"),
        "run": run_id,
        "roles": {name: list(host.roles) for name, host in platform.every_host.items()},
        "hosts": found.hosts,
        "problems": found.problems,
    }
    key = f"{_folder(platform.platform)}{now:%Y%m%dT%H%M%SZ}-{run_id}.json"
    store.put_new(key, json.dumps(measured, indent=1, sort_keys=True).encode(), "application/json")
    return measured


def told(known: list[dict[str, Any]], platform: Platform) -> list[Straggler]:
    """Of the newest measurement, beside those before it."""
    declared = platform.host_speed or HostSpeed()
    newest, before = known[-1], [one["hosts"] for one in known[:-1]]
    return stragglers.find(newest["hosts"], newest["roles"], before, declared.slower_percent)


def earlier(store: Store, platform: str) -> list[dict[str, Any]]:
    """The newest last; as many as are compared with, and one."""
    keys = sorted(store.keys(_folder(platform)))[-EARLIER_MAX - 1 :]
    return in_parallel(lambda key: dict(json.loads(store.get(key) or b"{}")), keys)


def folders(testbed: Testbed, engine_facts: Mapping[str, Any]) -> dict[str, str]:
    """Of each host of the engine the first folder of its data, where it is known."""
    found: dict[str, str] = {}
    for instance in engine_facts.get("instances") or []:
        if instance.get("host") in testbed.fleet.names:
            found.setdefault(str(instance["host"]), str(instance["data_directory"]))
    first = next(iter(facts.folders(testbed.platform, engine_facts)), "")
    if not found and first:
        found = dict.fromkeys(testbed.platform.engine_hosts, first)
    return found


def _at(measured: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(measured["at"])


def _folder(platform: str) -> str:
    return f"{FOLDER}{platform}/"
