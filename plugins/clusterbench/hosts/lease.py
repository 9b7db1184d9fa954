"""One run at a time on a cluster: a directory on its client host, made by whoever holds it, named in every refusal.

Airflow's pool keeps two tasks apart; the lease keeps two runs apart, also those of different Airflows.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from shlex import quote

from clusterbench.base.errors import LeaseError
from clusterbench.base.scripts import script
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec import Platform


def acquire(fleet: Fleet, platform: Platform, holder: str) -> None:
    """Take the cluster for ``holder``, a run's id; taking it twice is the same as once. Raises LeaseError."""
    note = json.dumps({"holder": holder, "since": datetime.now(UTC).isoformat(timespec="seconds")})
    directory = fleet.work_dir(platform.client)
    answer = fleet.run_on(
        platform.client, script("hosts/lease_acquire", directory=directory, lease=_lease(platform), note=note)
    )
    found = _read(answer.output)
    if found["holder"] != holder:
        raise LeaseError(
            f"cluster {platform.cluster!r} is held by run {found['holder']} since {found['since']}; wait for it to "
            f"end, or, if it died, free the cluster with: clusterbench release {platform.platform} {found['holder']}"
        )


def holder(fleet: Fleet, platform: Platform) -> str | None:
    """The run that has the cluster, and since when, in words; None when it is free."""
    work = quote(fleet.work_dir(platform.client))
    answer = fleet.run_on(
        platform.client, f"cd {work} 2>/dev/null && cat {quote(_lease(platform))}/holder 2>/dev/null || true"
    )
    found = _read(answer.output)
    return f"{found['holder']} since {found['since']}" if answer.output.strip() else None


def release(fleet: Fleet, platform: Platform, holder: str) -> bool:
    """Give the cluster back, if ``holder`` has it. Returns whether it had."""
    directory = fleet.work_dir(platform.client)
    noted = json.dumps(holder)
    answer = fleet.run_on(
        platform.client, script("hosts/lease_release", directory=directory, lease=_lease(platform), holder=noted)
    )
    return "released" in answer.output


def _read(note: str) -> dict[str, str]:
    try:
        return dict(json.loads(note))
    except ValueError:
        return {"holder": "somebody whose note is unreadable", "since": "some time"}


def _lease(platform: Platform) -> str:
    return f"lease.{platform.cluster}"
