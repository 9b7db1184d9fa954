"""What cannot be warm is known before a host is touched."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.estimate import estimate
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.trial.warmth import too_large
from clusterbench.workloads import load_workload, why_not
from clusterbench.workloads.needs import needs_of

CATALOG = Catalog(project_root())
SEED = 7


def asked(workload: str, platform: str, **levels: Any) -> str:
    factors = load_workload(workload).factors
    defaults = {name: factor.default for name, factor in factors.items()}
    return too_large(load_workload(workload), defaults | levels, SEED, CATALOG.platform(platform))


def test_more_than_the_hosts_have_cannot_be_warm_and_what_can_be_is_said() -> None:
    assert asked("full_scan", "native", rows=8_400_000_000) == (
        "5,880 GB of relations cannot be warm: the hosts of 'native' have 384 GiB of memory; measure it cold or as_left"
    )
    assert "376 GiB" not in asked("full_scan", "native", rows=8_400_000_000, cache="database_warm")
    assert "measure it cold or ramped_up" in asked("order_entry", "order_entry_vm", warehouses=32_000, cache="warm")


def test_only_the_partitions_that_are_read_count() -> None:
    whole, part = (load_workload(name) for name in ("full_scan", "partial_scan"))
    levels = {name: factor.default for name, factor in part.factors.items()} | {"rows": 8_400_000_000}
    read, all_of_it = (needs_of(each, levels, SEED).relation_bytes for each in (part, whole))
    assert read == pytest.approx(0.2 * all_of_it, rel=0.05)
    assert asked("full_scan", "native", rows=1_500_000_000) and not asked("partial_scan", "native", rows=1_500_000_000)


@pytest.mark.parametrize("cache", ["cold", "as_left"])
def test_other_states_can_be_had(cache: str) -> None:
    assert not asked("full_scan", "native", rows=8_400_000_000, cache=cache)


def test_what_fits_or_nobody_knows_is_left_to_the_proof() -> None:
    assert not asked("full_scan", "native", rows=500_000_000)
    assert not asked("full_scan", "lab_db1", rows=8_400_000_000)
    assert not asked("data_load", "native", rows=8_400_000_000)


def test_compressed_relations_are_as_large_as_they_are_expected_to_be() -> None:
    rows = 2_000_000_000
    assert asked("full_scan", "native", rows=rows, storage="heap")
    assert not asked("full_scan", "native", rows=rows, storage="append_column")
    assert asked("full_scan", "native", rows=rows, storage="append_column", compression="none")


def test_plan_and_estimate_count_it_and_make_no_data_for_it() -> None:
    experiment = CATALOG.experiment("key_value")
    chosen = {"scale": "full", "platforms": ["native"], "sweeps": ["statement_mem"], "repetitions": 1}
    plan = make_plan(experiment, read_choices(experiment, chosen), CATALOG)
    (one,) = estimate(plan, CATALOG)
    assert (one.trials, one.not_applicable, one.dataset_bytes, one.estimate_s) == (4, 4, 0, 0)
    ((sweep, why),) = plan.refused("native")
    assert sweep == "statement_mem" and "570 GB of relations cannot be warm" in why
    assert {why_not(trial, {}) for trial in plan.trials["native"]} == {why}
