"""How often a run has taken a platform: a person may stop a run, which releases its clusters, and resume it later.

A round lasts from the first change to a platform until all of it is put back. Each round's begin and end are archived.
What a later round finds must be what the first one has found: the numbers of both stand in one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clusterbench.base.archive import RunArchive, nth
from clusterbench.base.clock import now_iso
from clusterbench.base.errors import EngineError
from clusterbench.base.words import moment
from clusterbench.results.facts_compared import Side, differences

SHOWN = 5


def begun(archive: RunArchive, platform: str) -> int:
    """How many have begun; 0 where nothing was changed yet."""
    return len(archive.keys(f"platforms/{platform}/begun"))


def is_released(archive: RunArchive, platform: str) -> bool:
    """Whether all that have begun were put back."""
    return _released(archive, platform) >= begun(archive, platform)


def begin(archive: RunArchive, platform: str) -> None:
    """Before the first change to the platform; an earlier try of the same round has done it."""
    number = begun(archive, platform)
    if number == _released(archive, platform):
        archive.put_json(f"platforms/{platform}/{nth('begun', number + 1)}", {"begun": True, "at": now_iso()})


def release(archive: RunArchive, platform: str) -> None:
    """Everything is put back."""
    if number := begun(archive, platform):
        archive.put_json(f"platforms/{platform}/{nth('released', number)}", {"put_back": True, "at": now_iso()})


def note_facts(archive: RunArchive, platform: str, facts: Mapping[str, Any]) -> None:
    """Those of the first round stand. Raises EngineError where a later one finds a platform that is another by now."""
    key = f"platforms/{platform}/facts.json"
    number = begun(archive, platform)
    if archive.put_json(key, facts) or number < 2:
        return
    declared = archive.store.get(f"{archive.prefix}platforms/{platform}/platform.yaml")
    first, now = Side.of(archive.need_json(key), declared), Side.of(facts, declared)
    found = differences(first, now)
    archive.put_json(f"platforms/{platform}/{nth('differs', number)}", {"differences": [asdict(one) for one in found]})
    if decisive := [one for one in found if one.decides or one.where == "engine"]:
        said = "; ".join(_said(asdict(one)) for one in decisive[:SHOWN])
        more = f"; and {len(decisive) - SHOWN} more" if len(decisive) > SHOWN else ""
        raise EngineError(
            f"platform {platform!r}: this run cannot continue here, because the platform has changed since it "
            f"began: {said}{more}. Restore it and clear this task, or start a new run"
        )


def told(archive: RunArchive, platform: str) -> list[dict[str, str]]:
    """Each time that the run was resumed: when it had been released, when it took the platform again."""
    found = []
    for number in range(2, begun(archive, platform) + 1):
        stopped = archive.get_json(f"platforms/{platform}/{nth('released', number - 1)}") or {}
        again = archive.need_json(f"platforms/{platform}/{nth('begun', number)}")
        differs = archive.get_json(f"platforms/{platform}/{nth('differs', number)}") or {}
        found.append(
            {
                "platform": platform,
                "released": moment(stopped["at"]) if "at" in stopped else "",
                "again": moment(again["at"]),
                "differs": "; ".join(map(_said, differs.get("differences", []))),
            }
        )
    return found


def _released(archive: RunArchive, platform: str) -> int:
    return len(archive.keys(f"platforms/{platform}/released"))


def _said(difference: Mapping[str, Any]) -> str:
    return f"{difference['what']} ({difference['where']}): {difference['a']} -> {difference['b']}"
