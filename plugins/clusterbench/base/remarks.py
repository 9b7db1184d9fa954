"""What people say of runs and of days: notes with tags, events, and what is not to be judged by. Pure.

A remark is the object ``_remarks/<experiment>/<run id>/<id>.json``. One that is of no run has ``_events`` in the place
of the run id, and ``_all`` in that of the experiment if it is of all. Each is written once and says who and when; the
archive of a run never changes by it. ``remark_store.py`` reads and writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, get_args

Kind = Literal["note", "event", "withdrawn", "put_back"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FOLDER = "_remarks/"
ALL, EVENTS = "_all", "_events"
"""In the place of an experiment, and of a run id."""


@dataclass(frozen=True)
class Remark:
    """``text`` is what is said; of a withdrawal its reason.

    A note is of a run. An event is of no run: it happened to all platforms and experiments, or to those that are named.
    What is withdrawn is a run, a platform of it, or a cell of that platform; nothing is judged by it until the same is
    put back.
    """

    kind: Kind
    text: str
    said_by: str
    said_at: datetime
    experiment: str = ""
    run_id: str = ""
    platform: str = ""
    cell: str = ""
    tags: tuple[str, ...] = ()
    happened_at: datetime | None = None
    """Of an event."""

    @property
    def target(self) -> tuple[str, str, str, str]:
        """What is withdrawn or put back."""
        return (self.experiment, self.run_id, self.platform, self.cell)

    @property
    def folder(self) -> str:
        return folder_of(self.experiment, self.run_id)

    @property
    def where(self) -> str:
        """Such as "key_value/2026…, cell X on lab_db1", or whose an event is: "all platforms"."""
        if self.kind == "event":
            whose = [self.experiment, self.platform]
            return ", ".join(filter(None, whose)) or "all platforms"
        run = f"{self.experiment}/{self.run_id}"
        if self.cell:
            return f"{run}, cell {self.cell} on {self.platform}"
        return f"{run} on {self.platform}" if self.platform else run

    @property
    def line(self) -> str:
        """Of an event: "on 12 May 2026, lab_db1: storage rebuilt (said by ann)"."""
        whose = "" if self.where == "all platforms" else f", {self.where}"
        return f"on {self.happened_at or self.said_at:%-d %b %Y}{whose}: {self.text} (said by {self.said_by})"

    @property
    def by_whom(self) -> str:
        return by_whom(self.said_by, self.said_at)

    def as_json(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self), default=datetime.isoformat))  # type: ignore[no-any-return]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Remark:
        """What a later version adds is left out."""
        known = {name: value for name, value in data.items() if name in cls.__dataclass_fields__}
        times = {name: datetime.fromisoformat(known[name]) for name in ("said_at", "happened_at") if known.get(name)}
        return cls(**{**known, **times, "tags": tuple(known.get("tags") or ())})


def by_whom(said_by: str, said_at: datetime) -> str:
    """ "ann on 12 May 2026"."""
    return f"{said_by} on {said_at:%-d %b %Y}"


def words_of_withdrawal(said_by: str, said_at: datetime, text: str) -> str:
    return f"withdrawn by {by_whom(said_by, said_at)}: {text}"


def folder_of(experiment: str, run_id: str = "") -> str:
    return f"{FOLDER}{experiment or ALL}/{run_id or EVENTS}/"


# What follows from them.


def withdrawals(remarks: Iterable[Remark]) -> list[Remark]:
    """Those that hold: of each target the last word, where that is not that it was put back."""
    last: dict[tuple[str, ...], Remark] = {}
    for one in sorted(remarks, key=lambda one: one.said_at):
        if one.kind in {"withdrawn", "put_back"}:
            last[one.target] = one
    return [one for one in last.values() if one.kind == "withdrawn"]


def withdrawn(holding: Iterable[Remark], platform: str = "", cell: str = "") -> str:
    """Who withdrew a cell, its platform or the whole run, when and why; empty where nobody did."""
    for one in holding:
        if one.platform in {"", platform} and one.cell in {"", cell}:
            return words_of_withdrawal(one.said_by, one.said_at, one.text)
    return ""


def tags_of(chosen: Sequence[str], remarks: Iterable[Remark]) -> list[str]:
    """Those that a run was started with, and those of later notes."""
    return list(dict.fromkeys([*chosen, *(tag for one in remarks if one.kind == "note" for tag in one.tags)]))
