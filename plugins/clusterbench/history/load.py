"""Finished archives -> the history database. The same one again changes nothing; a run is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterbench.base import remark_store
from clusterbench.base.archive import MANIFEST, RunArchive, Store, runs_in
from clusterbench.base.errors import ArchiveError, HistoryError, SpecError
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.remarks import FOLDER
from clusterbench.base.run_ids import BASELINES, WEEKLY, asked_at
from clusterbench.base.words import plural
from clusterbench.history import host_speeds, write
from clusterbench.history.database import Database, writing
from clusterbench.history.rows import as_json, rows_of, text
from clusterbench.spec.catalog import Catalog

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sealed(Store):
    """A run as its manifest seals it: what was changed or lost since is an error, what came later is not there."""

    digests: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str) -> bytes | None:
        if key not in self.digests:
            return None
        body = super().get(key)
        if body is None or hashlib.sha256(body).hexdigest() != self.digests[key]:
            what = "is in the manifest but missing" if body is None else "was changed after the run"
            raise ArchiveError(f"{self.url}{key}: {what}; 'clusterbench verify' shows more about that run")
        return body


def load_run(db: Database, archive: RunArchive, catalog: Catalog) -> bool:
    """Whether anything had to be loaded. Raises HistoryError for a run that is not finished, or cannot be read."""
    sealed, manifest_sha256 = _sealed(archive)
    if _loaded(db, archive) == manifest_sha256:
        return False
    with _readable(archive):
        rows = rows_of(sealed, catalog, manifest_sha256)
    with writing(db):
        standing = _loaded(db, archive)
        if standing == manifest_sha256:
            return False  # another loader was quicker
        if standing:
            write.forget_run(db, archive.experiment, archive.run_id)
        write.add_run(db, rows)
    return True


@contextmanager
def _readable(archive: RunArchive) -> Iterator[None]:
    """What cannot be made sense of is told as that, and does not end the loading of others."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HistoryError(
            f"{archive.url}: cannot be read by this version of clusterbench ({type(error).__name__}: {error}); "
            "nothing of it was loaded"
        ) from error


def _sealed(archive: RunArchive) -> tuple[RunArchive, str]:
    raw = archive.store.get(archive.prefix + MANIFEST)
    if raw is None:
        opened = archive.get_json("run.json") or archive.get_json("week.json")
        found = "is not finished: it has no manifest yet" if opened else "is not there"
        raise HistoryError(
            f"{archive.url}: {found}; only a finished run is loaded, which its DAG run does itself at its end"
        )
    try:
        objects = json.loads(raw)["objects"]
        digests = {archive.prefix + key: entry["sha256"] for key, entry in objects.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise HistoryError(f"{archive.url}{MANIFEST}: is no manifest ({type(error).__name__}: {error})") from None
    store = archive.store
    sealed = Sealed(store.client, store.bucket, store.endpoint, store.prefix, store.patience, digests=digests)
    return RunArchive(sealed, archive.experiment, archive.run_id), hashlib.sha256(raw).hexdigest()


def _loaded(db: Database, archive: RunArchive) -> str | None:
    """Digest of the manifest that was loaded of this run, if one was."""
    query = "SELECT manifest_sha256 FROM runs WHERE experiment = %s AND run_id = %s"
    found = db.execute(query, [archive.experiment, archive.run_id]).fetchone()
    return found[0] if found else None


# Weekly runs.


def load_week(db: Database, archive: RunArchive) -> bool:
    """Whether anything had to be loaded: which runs a weekly run had, and what changed in it."""
    sealed, manifest_sha256 = _sealed(archive)
    standing = db.execute("SELECT manifest_sha256 FROM weeks WHERE run_id = %s", [archive.run_id]).fetchone()
    if standing == (manifest_sha256,):
        return False
    opened, week = sealed.need_json("run.json"), sealed.get_json("week.json") or {}
    changes = (sealed.get_json("changes.json") or {}).get("changes", [])
    with _readable(archive), writing(db):
        db.execute("DELETE FROM weeks WHERE run_id = %s", [archive.run_id])
        row = {
            "run_id": archive.run_id,
            "scale": (opened.get("choices") or {}).get("scale") or "",
            "started_at": asked_at(archive.run_id) or datetime.fromisoformat(opened["started_at"]),
            "dag_run_id": (opened.get("started_by") or {}).get("dag_run_id") or "",
            "url": archive.url,
            "manifest_sha256": manifest_sha256,
        }
        number = write.insert(db, "weeks", row, returning="week")
        runs = ((number, n, *_week_run(run)) for n, run in enumerate(week.get("runs", [])))
        write.copy_rows(db, "week_runs", ("week", *write.WEEK_RUNS), runs)
        lines = ((number, n, *_change(db, entry)) for n, entry in enumerate(changes))
        write.copy_rows(db, "changes", ("week", "position", "series", "measurement", "state", "change"), list(lines))
    return True


def _week_run(run: Mapping[str, Any]) -> tuple[Any, ...]:
    said = (run.get("dag_run_id") or "", run["state"], text(run["reason"]))
    return (run["experiment"], run["run_id"], *said)


def _change(db: Database, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """An entry of ``changes.json``: series, change, and what facts differ."""
    series = entry["series"]
    return _series_of(db, series), series["measurement"], entry["change"]["state"], as_json(entry)


def _series_of(db: Database, said: Mapping[str, Any]) -> int:
    key = (said["platform"], said["sweep"], as_json(said["levels"]))
    return write.series_ids(db, said["experiment"], said["scale"], [key])[key]


# What belongs to no run.


def load_what_is_beside(db: Database, store: Store) -> None:
    """What people said, and how fast hosts are."""
    load_baselines(db, store)
    load_remarks(db, store)
    host_speeds.load(db, store)


def load_baselines(db: Database, store: Store) -> int:
    """How many were new: levels that people accepted as the new normal."""
    known = {key for (key,) in db.execute("SELECT object FROM baselines")}
    new = [key for key in store.keys(BASELINES) if key not in known]
    found = [(key, json.loads(store.get(key) or b"{}")) for key in new]
    with writing(db):
        for key, said in found:
            row = {name: said[name] for name in ("measurement", "from_run_id", "accepted_by", "accepted_at", "note")}
            db.execute(ADD_BASELINE, {**row, "series": _series_of(db, said), "object": key})
    return len(new)


def load_remarks(db: Database, store: Store) -> int:
    """How many were new: what people said of runs and days."""
    known = {key for (key,) in db.execute("SELECT object FROM remarks")}
    new = [key for key in store.keys(FOLDER) if key not in known]
    found = in_parallel(lambda key: {"object": key, **vars(remark_store.read_one(store, key))}, new)
    with writing(db), db.cursor() as cursor:
        cursor.executemany(ADD_REMARK, [{**row, "tags": list(row["tags"])} for row in found])
    return len(new)


ADD_REMARK = """
INSERT INTO remarks (object, kind, text, said_by, said_at, experiment, run_id, platform, cell, tags, happened_at)
VALUES (%(object)s, %(kind)s, %(text)s, %(said_by)s, %(said_at)s, %(experiment)s, %(run_id)s, %(platform)s, %(cell)s,
    %(tags)s, %(happened_at)s)
ON CONFLICT DO NOTHING"""

ADD_BASELINE = """
INSERT INTO baselines (series, measurement, from_run_id, accepted_by, accepted_at, note, object)
VALUES (%(series)s, %(measurement)s, %(from_run_id)s, %(accepted_by)s, %(accepted_at)s, %(note)s, %(object)s)
ON CONFLICT DO NOTHING"""


def load_published(db: Database, catalog: Catalog) -> None:
    """The papers' numbers as this version of clusterbench has them."""
    columns = ("sweep", "measurement", "platform", "ratio_to", "levels", "value", "unit", "qualifier", "source")
    rows = list(_published(catalog))
    with writing(db):
        db.execute("DELETE FROM published_values")
        write.copy_rows(db, "published_values", ("experiment", "position", *columns), rows)


def _published(catalog: Catalog) -> Iterator[tuple[Any, ...]]:
    for path in catalog.experiment_files:
        try:
            experiment = catalog.read_experiment(path)
            values = catalog.published(experiment.published).values if experiment.published else []
        except SpecError:  # it is told where DAGs are made
            continue
        for position, value in enumerate(values):
            if value.ratio_to_levels:  # of two cells at different levels; the database divides those of equal ones
                continue
            cell = (value.sweep, value.measurement, value.platform, value.ratio_to, as_json(value.levels))
            yield experiment.experiment, position, *cell, value.value, value.unit, value.qualifier, value.source


# All that is missing.


@dataclass
class Counted:
    """What became of the archives that were looked at; ``problems``: run -> why it could not be loaded."""

    loaded: int = 0
    unfinished: int = 0
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, other: Counted) -> None:
        self.loaded += other.loaded
        self.unfinished += other.unfinished
        self.problems |= other.problems

    def __str__(self) -> str:
        said = [f"loaded {plural(self.loaded, 'run')}"]
        said += [f"{self.unfinished} not finished"] * bool(self.unfinished)
        said += [f"{len(self.problems)} could not be loaded"] * bool(self.problems)
        return ", ".join(said)


def catch_up(db: Database, store: Store, catalog: Catalog) -> Counted:
    """Load every finished run and week that is not there, baselines and published values.

    One that cannot be read is told in the log and does not keep the others out.
    """
    load_published(db, catalog)
    load_what_is_beside(db, store)
    counted = Counted()
    for archive in missing(db, store):
        load_counted(db, archive, catalog, counted)
    return counted


def missing(db: Database, store: Store) -> list[RunArchive]:
    """Runs and weeks of the archive that are not in the database, finished or not; the oldest first."""
    known = set(db.execute("SELECT experiment, run_id FROM runs").fetchall())
    known |= {(WEEKLY, run_id) for (run_id,) in db.execute("SELECT run_id FROM weeks")}
    return [run for run in reversed(runs_in(store)) if (run.experiment, run.run_id) not in known]


def load_counted(
    db: Database, archive: RunArchive, catalog: Catalog, counted: Counted, say: Callable[[str], None] = log.info
) -> None:
    name = f"{archive.experiment}/{archive.run_id}"
    try:
        if archive.store.get(archive.prefix + MANIFEST) is None:
            counted.unfinished += 1
        elif load_any(db, archive, catalog):
            counted.loaded += 1
            say(f"{name}: loaded")
    except (HistoryError, ArchiveError) as problem:
        log.warning("%s", problem)
        counted.problems[name] = str(problem)


def load_any(db: Database, archive: RunArchive, catalog: Catalog) -> bool:
    """A run, or a weekly one."""
    return load_week(db, archive) if archive.experiment == WEEKLY else load_run(db, archive, catalog)
