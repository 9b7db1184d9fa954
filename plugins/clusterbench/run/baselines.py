"""Whether a new level is to be the baseline: asked of people, once for each regression, and their answer kept.

A question is ``_questions/<experiment>/<series>/<number>.json``, its answer beside it; what was accepted is
``_baselines/<experiment>/<id>.json``. Each is written once: of two who ask or answer at the same time one is first.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import Store
from clusterbench.base.connections import HISTORY
from clusterbench.base.errors import ArchiveError
from clusterbench.base.run_ids import BASELINES
from clusterbench.base.words import plural
from clusterbench.history.changes import QUESTION_DAYS, ReportedChange, regressions

if TYPE_CHECKING:
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

KEEP = "No: keep comparing with the old level"
ACCEPT = "Yes: the new level is the baseline from now on"
ACCEPT_ALL = "Yes, of all of these"
SHOWN = 100
"""Regressions of one question in words; the report has them all."""


@dataclass(frozen=True)
class Question:
    """Of one experiment on one platform: a bad week may have hundreds of regressions, and few questions."""

    experiment: str
    platform: str
    asked: Mapping[str, str]
    """What the reader chooses from, and the series that each stands for."""
    body: str

    @property
    def subject(self) -> str:
        return f"{self.experiment} on {self.platform}: {plural(len(self.asked), 'regression')}: the new baseline?"

    def as_json(self) -> dict[str, Any]:
        return {"subject": self.subject, "body": self.body, "asked": dict(self.asked)}


def options(asked: Mapping[str, str]) -> list[str]:
    return [KEEP, ACCEPT] if len(asked) == 1 else [KEEP, ACCEPT_ALL, *asked]


def chosen_series(asked: Mapping[str, str], chosen: Sequence[str]) -> list[str]:
    """The series whose new level was accepted. No, beside others, is no."""
    if KEEP in chosen:
        return []
    if ACCEPT in chosen or ACCEPT_ALL in chosen:
        return list(asked.values())
    return [asked[choice] for choice in chosen]


# Asking.


def questions(run: Run, asked_by: str) -> list[Question]:
    """Of the week's regressions those that nobody was asked about yet, by experiment and platform."""
    changes = run.archive.need_json("changes.json")["changes"]
    through = {one["experiment"]: one["run_id"] or "" for one in run.archive.need_json("week.json")["runs"]}
    groups: dict[tuple[str, str], list[ReportedChange]] = defaultdict(list)
    for found in regressions(map(ReportedChange.of, changes)):
        if _claim(run.archive.store, found, asked_by, through[found.experiment]):
            groups[found.experiment, found.platform].append(found)
    return [_question(*group, found) for group, found in groups.items()]


def _question(experiment: str, platform: str, found: Sequence[ReportedChange]) -> Question:
    shown = [f"- **{_label(one)}**: {one.says}{_facts(one)}" for one in found[:SHOWN]]
    if len(found) > SHOWN:
        shown.append(f"- and {len(found) - SHOWN} more; clusterbench regressions lists all")
    body = (
        "These results are regressions: they got worse and stayed worse. Accept the new level only if it is meant to "
        "stay (a new version, a changed setting). Later weeks are then compared with the runs from its first run on, "
        "and the result has no verdict until enough valid runs were measured at the new level (10, unless the "
        f"experiment sets another number). Without an answer within {QUESTION_DAYS} days nothing is accepted, and the "
        "next weekly run asks again. Airflow takes an answer from those who may edit this DAG: of its "
        "four simple roles user, op and admin, not viewer.\n\n" + "\n".join(shown)
    )
    return Question(experiment, platform, {_label(one): one.series_id for one in found}, body)


def _label(found: ReportedChange) -> str:
    return f"{found.sweep}, {found.label}: {found.measurement} ({found.scale} scale)"


def _facts(found: ReportedChange) -> str:
    if not found.facts:
        return " No fact of the platform changed there."
    return f" Changed there: {'; '.join(found.facts)}."


def _claim(store: Store, found: ReportedChange, asked_by: str, through: str) -> bool:
    """Whether ``asked_by`` is the one to ask: nobody has, or nobody answered in time. ``through``: the run judged."""
    folder = _folder(found.experiment, found.series_id)
    numbers = sorted(int(key.rsplit("/", 1)[1].split(".")[0]) for key in store.keys(folder) if key.endswith(".q.json"))
    for number in numbers:
        question = _json(store, f"{folder}{number}.q.json")
        if question["asked_by"] == asked_by:
            return True
        if question["through_run_id"] >= found.at_run_id and _stands(store, folder, number, question):
            return False
    claimed = {
        "asked_by": asked_by,
        "asked_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "through_run_id": through,
        "says": found.line,
    }
    return store.put_new(f"{folder}{len(numbers) + 1}.q.json", _bytes(claimed), "application/json")


def _stands(store: Store, folder: str, number: int, question: Mapping[str, Any]) -> bool:
    """Whether a question is answered by somebody, or open."""
    answer = store.get(f"{folder}{number}.a.json")
    if answer is not None:
        return bool(json.loads(answer)["by"])
    return datetime.now(UTC) - datetime.fromisoformat(question["asked_at"]) < timedelta(days=QUESTION_DAYS, hours=1)


# The answer.


@dataclass(frozen=True)
class Answer:
    chosen: Sequence[str]
    by: str
    """Empty where nobody answered in time."""
    at: datetime
    asked_by: str
    """Airflow's id of the run that asked."""

    def as_json(self) -> dict[str, str]:
        return {"by": self.by, "at": self.at.isoformat(timespec="seconds")}


def record(run: Run, asked: Mapping[str, str], answer: Answer) -> int:
    """Keep who said what, and the accepted baselines. Returns how many were accepted."""
    accepted = set(chosen_series(asked, answer.chosen))
    found = [ReportedChange.of(entry) for entry in run.archive.need_json("changes.json")["changes"]]
    for one in regressions(found):
        if one.series_id in asked.values():
            word = "accepted" if one.series_id in accepted else "kept"
            _answer(run.archive.store, one, word, answer)
            if word == "accepted":
                _accept(run.archive.store, one, answer)
            log.info("%s: %s by %s", one.where, word, answer.by or "nobody: the time is over")
    if accepted:
        _load(run)
    return len(accepted)


def _answer(store: Store, found: ReportedChange, word: str, answer: Answer) -> None:
    for key in store.keys(_folder(found.experiment, found.series_id)):
        if key.endswith(".q.json") and _json(store, key)["asked_by"] == answer.asked_by:
            said = {"answer": word, **answer.as_json()}
            store.put_new(key.replace(".q.json", ".a.json"), _bytes(said), "application/json")


def _accept(store: Store, found: ReportedChange, answer: Answer) -> None:
    baseline = {
        "experiment": found.experiment,
        "scale": found.scale,
        "platform": found.platform,
        "sweep": found.sweep,
        "levels": dict(found.levels),
        "measurement": found.measurement,
        "from_run_id": found.at_run_id,
        "accepted_by": answer.by,
        "accepted_at": answer.as_json()["at"],
        "note": found.says,
    }
    key = hashlib.sha256(f"{found.series_id} {found.at_run_id}".encode()).hexdigest()[:16]
    store.put_new(f"{BASELINES}{found.experiment}/{key}.json", _bytes(baseline), "application/json")


def _load(run: Run) -> None:
    from clusterbench.history import database, load  # noqa: PLC0415  psycopg, which no DAG needs

    with database.opened(run.connections(HISTORY)) as db:
        load.load_baselines(db, run.archive.store)


def _folder(experiment: str, series_id: str) -> str:
    return f"_questions/{experiment}/{series_id}/"


def _json(store: Store, key: str) -> dict[str, Any]:
    raw = store.get(key)
    if raw is None:
        raise ArchiveError(f"{store.url}{key}: is not there, though it was listed")
    return dict(json.loads(raw))


def _bytes(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, indent=1, sort_keys=True).encode()
