"""docs/journeys/add.md, read by somebody who adds something: its tables of tasks and of methods are the code's."""

from __future__ import annotations

import inspect
import re

import pytest
from airflow.dag_processing.dagbag import DagBag

from clusterbench.base.paths import project_root
from clusterbench.workloads import Planned, Spread, Workload

PAGE = (project_root() / "docs" / "journeys" / "add.md").read_text()


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(project_root() / "dags")


def rows(heading: str) -> dict[str, list[str]]:
    """First column of the table below a heading -> its other cells; a cell may name several."""
    section = PAGE.split(f"{heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: others for first, *others in cells for name in re.findall(r"`(\w+)`", first)}


def test_every_task_of_an_experiment_is_there_with_its_pool(bag: DagBag) -> None:
    tasks = {
        task.task_id.rpartition(".")[2]: task for task in bag.dags["retail"].tasks
    }  # some of its machines are made
    table = rows("### The tasks of an experiment")
    assert set(table) == set(tasks)
    pooled = {name for name, (_, pool) in table.items() if pool == "yes"}
    assert pooled == {name for name, task in tasks.items() if task.pool != "default_pool"}


def test_every_method_of_a_workload_is_there() -> None:
    methods = {
        name
        for protocol in (Workload, Planned, Spread)
        for name, _ in inspect.getmembers(protocol, inspect.isfunction)
        if not name.startswith("_")
    }
    assert set(rows("## A workload in Python")) == methods | {"needs"}
