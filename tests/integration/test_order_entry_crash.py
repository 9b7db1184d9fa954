"""Order-Entry when the server is killed in the middle of a trial: recovered, consistent, and the series goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.paths import project_root
from clusterbench.run import validation
from clusterbench.workloads import load_workload
from tests.integration.series import killed, series_on

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(300)]

LEVELS: dict[str, Any] = {"clients": [1, 2, 3], "warehouses": [1], "ramp_up_s": [1], "window_s": [3]}


def test_server_killed_in_mid_trial_recovers_consistent_and_the_series_goes_on(
    connections: Connections, tmp_path: Path
) -> None:
    declared = yaml.safe_load((project_root() / "include/platforms/lab_db1.yaml").read_text())
    sweep = {"workload": "order_entry", "factors": LEVELS, "repetitions": 1}
    with series_on(declared, connections, tmp_path, **sweep) as series:
        first = series.measure(1, 1)
        assert (first.outcome, first.reason) == ("completed", "")
        record = series.measure(1, 2, killed)
        assert record.outcome == "failed" and record.measurements == {}
        assert "coordinator on db1" in record.reason and "went down" in record.reason
        after = series.measure(1, 3)
        assert (after.outcome, after.reason) == ("completed", "")
        (said,) = after.evidence["recovered"]
        assert said.endswith(" was down and was started")
        found = after.evidence["driver"]["facts"]["order_entry_trials"]
        assert (found["violations_before"], found["violations_after"]) == (0, 0), "what was committed is there, whole"
        assert series.results() == {1: "1 of 1", 2: "0 of 1", 3: "1 of 1"}

        workload, step = load_workload("order_entry"), series.step(1, 1)
        dataset = workload.dataset(step.levels, step.seed)
        with series.run.testbed(series.platform) as testbed:
            testbed.engine.execute(f"UPDATE {dataset.table}.warehouse SET w_ytd = w_ytd + 1")  # type: ignore[attr-defined]
            whole = {k: v for k, v in workload.inspect(dataset, testbed.engine).items() if not isinstance(v, list)}
        wrong = [verdict.says for verdict in validation.validate("order_entry", [whole]) if not verdict.passed]
        assert any("consistency conditions" in says for says in wrong), "a suite finds a total that was changed by hand"
