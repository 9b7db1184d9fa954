"""Names of a run and of a cluster's pool."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from clusterbench.base.paths import project_root
from clusterbench.base.run_ids import run_id_from
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import pool_of

ASKED = datetime(2026, 11, 21, 8, 30, 59, 999999, tzinfo=UTC)


def test_run_id_begins_with_the_second_it_was_asked_for() -> None:
    assert run_id_from(ASKED, "manual__1").startswith("20261121T083059Z-")


def test_run_id_is_safe_in_paths_and_object_keys() -> None:
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", run_id_from(ASKED, "manual__2026-11-21T08:30:59+00:00/$(x)"))


def test_run_id_is_the_same_in_every_task_of_a_run() -> None:
    assert run_id_from(ASKED, "manual__1") == run_id_from(ASKED, "manual__1")


def test_two_runs_of_one_second_differ() -> None:
    assert run_id_from(ASKED, "manual__1") != run_id_from(ASKED, "manual__2")


def test_time_zone_of_the_clock_does_not_matter() -> None:
    elsewhere = ASKED.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert run_id_from(elsewhere, "manual__1") == run_id_from(ASKED, "manual__1")


def test_platforms_of_one_cluster_share_its_pool() -> None:
    catalog = Catalog(project_root())
    assert pool_of(catalog.platform("lab_db1")) == pool_of(catalog.platform("lab_db2")) == "cluster_lab"
