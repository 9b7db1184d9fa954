"""A platform's own database and those of its neighbours are looked at at once: a host may have a hundred of them."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from clusterbench.run import steps


def test_every_copy_of_a_dataset_is_looked_at_at_once_and_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    met = threading.Barrier(3, timeout=30)  # one after the other they would wait for each other in vain

    def inspect(dataset: Any, engine: Any) -> dict[str, Any]:
        met.wait()
        return {"table": dataset, "engine": engine}

    monkeypatch.setattr(steps, "load_workload", lambda name: SimpleNamespace(inspect=inspect))
    engines: Any = ["own", "vm2", "vm3"]
    seen = steps._inspected("tpcds", "tpcds_sf0_01", engines)  # type: ignore[arg-type]
    assert [each["engine"] for each in seen] == ["own", "vm2", "vm3"]
