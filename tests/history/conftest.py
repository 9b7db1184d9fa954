"""A history database and a folder of object storage of these tests' own, on the lab's servers, with captured runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import Connection, from_file
from clusterbench.history import database, load
from clusterbench.spec.catalog import Catalog
from clusterbench_lab import Lab
from clusterbench_lab.bench import history as synthetic
from clusterbench_lab.bench.synthetic_history import Synthetic
from tests.report.test_report import CAPTURED, CATALOG

KEY_VALUE, RETAIL = "20261101T000000Z-aaaaaa", "20261102T000000Z-bbbbbb"
PASSWORD = "of-the-tests"
Change = Callable[[dict[str, bytes]], object]


@dataclass(frozen=True)
class History:
    """What a test needs of both sides."""

    connection: Connection
    store: Store
    lab: Lab
    catalog: Catalog = CATALOG

    def archive(self, experiment: str, run_id: str) -> RunArchive:
        return RunArchive(self.store, experiment, run_id)

    def put(self, experiment: str, run_id: str, captured: str, change: Change = lambda _: None) -> RunArchive:
        """A captured run under another id, not sealed."""
        below = CAPTURED / captured
        objects = {str(path.relative_to(below)): path.read_bytes() for path in below.rglob("*") if path.is_file()}
        opened = json.loads(objects["run.json"])
        opened |= {"run_id": run_id, "started_by": {"dag_run_id": f"manual__{run_id}", "how": "manual"}}
        objects["run.json"] = json.dumps(opened).encode()
        change(objects)
        archive = self.archive(experiment, run_id)
        for key, body in objects.items():
            archive.put_new(key, body)
        return archive

    def put_sealed(self, experiment: str, run_id: str, captured: str, change: Change = lambda _: None) -> RunArchive:
        archive = self.put(experiment, run_id, captured, change)
        archive.seal({"valid": True, "started_by": {}})
        return archive

    def overwrite(self, archive: RunArchive, key: str, body: bytes) -> None:
        """What clusterbench itself never does."""
        store = archive.store
        store.client.put_object(Bucket=store.bucket, Key=store.prefix + archive.prefix + key, Body=body)

    def connections(self, name: str) -> Connection:
        """This folder of the archive, and this database."""
        if name == database.CONNECTION_ID:
            return self.connection
        known = from_file(self.lab.lab_dir / "connections.json")(name)
        return replace(known, extra={**known.extra, "prefix": self.store.prefix})

    def connect(self) -> database.Database:
        return database.connect(self.connection)

    def loaded(self, archive: RunArchive) -> bool:
        with self.connect() as db:
            return load.load_run(db, archive, self.catalog)


def edited(key: str, change: Callable[[Any], object]) -> Change:
    """Change one JSON object of a captured run."""

    def edit(objects: dict[str, bytes]) -> None:
        data = json.loads(objects[key])
        change(data)
        objects[key] = json.dumps(data, sort_keys=True).encode()

    return edit


def made(lab: Lab, name: str) -> History:
    """A database of that name, with tables, and a folder of that name."""
    lab.up(airflow=False)
    lab.parts.metadata.make_database_of(name, PASSWORD)
    known = from_file(lab.lab_dir / "connections.json")
    connection = replace(known(database.CONNECTION_ID), login=name, password=PASSWORD, schema=name)
    database.migrate(connection)
    return History(connection, replace(Store.of(known(CONNECTION_ID)), prefix=f"{name}/"), lab)


@pytest.fixture(scope="package")
def history(lab: Lab) -> History:
    """Two captured runs, loaded. Tests add runs, and change none of these."""
    found = made(lab, "history_tests")
    for experiment, run_id, captured in (("key_value", KEY_VALUE, "key_value/s1"), ("retail", RETAIL, "retail/l1")):
        assert found.loaded(found.put_sealed(experiment, run_id, captured))
    return found


@pytest.fixture
def db(history: History) -> Iterator[database.Database]:
    with database.opened(history.connection) as opened:
        yield opened


def captured(path: str) -> Any:
    return json.loads((Path(CAPTURED) / path).read_text())


WEEKS, TRIALS, SEED = 60, 96, 2
SYNTHETIC = Synthetic(WEEKS, TRIALS, SEED)
"""Cells of each platform: noise, slower in the last quarter, faster on the second platform with its kernel, noise."""


@pytest.fixture(scope="session")
def weeks(lab: Lab) -> History:
    """Made-up weeks, which tests read; what they write, they write through ``db``."""
    found = made(lab, "history_weeks")
    with found.connect() as db:
        synthetic.fill(db, WEEKS, TRIALS, SEED)
    return found


@pytest.fixture
def weeks_db(weeks: History) -> Iterator[database.Database]:
    """What a test writes is taken back."""
    with database.opened(weeks.connection) as opened, opened.transaction(force_rollback=True):
        yield opened
