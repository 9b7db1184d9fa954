"""docs/journeys/mail.md, read by somebody who got a mail: its example, its commands and its tasks are the real ones."""

from __future__ import annotations

import re
import shlex

import pytest
from airflow.dag_processing.dagbag import DagBag

from clusterbench.base.paths import project_root
from clusterbench.cli import main
from clusterbench.cli.common import chosen
from clusterbench.spec.catalog import project_catalog
from clusterbench.trial.plan import make_plan, read_choices
from tests import weeks

PAGE = (project_root() / "docs" / "journeys" / "mail.md").read_text()
SUBJECT = "clusterbench week"


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(project_root() / "dags")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """In blocks and in sentences; a subject of a mail begins like one."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    inline = re.findall(r"`(clusterbench [^`]+)`", PAGE)
    found = [line for line in [*lines, *inline] if line.startswith("clusterbench ") and not line.startswith(SUBJECT)]
    return [shlex.split(line, comments=True) for line in found]


def tasks_of(section: str) -> set[str]:
    """The first column of the table that follows these words."""
    table = PAGE.split(section)[1].lstrip(":,. \n").split("\n\n")
    rows = next(part for part in table if part.startswith("|")).splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_example_is_what_the_code_makes() -> None:
    """`PYTHONPATH=plugins:. python -m tests.weeks` prints it."""
    told = weeks.mail(weeks.usual())
    assert blocks("text") == [f"Subject: {told.subject}\n\n{told.text}".rstrip()]


def test_each_part_that_is_explained_is_in_the_example() -> None:
    (example,) = blocks("text")
    explained = PAGE.split("What each part means:")[1].split("\n\n")[1].splitlines()[2:]
    quoted = [words for row in explained for words in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert quoted
    for words in quoted:
        for piece in filter(None, map(str.strip, words.split("\u2026"))):
            assert piece in example, words


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_is_one(command: list[str]) -> None:
    options = main.parser().parse_args(command[1:])
    if command[1] == "run":
        catalog = project_catalog()
        experiment = catalog.experiment(options.experiment)
        plan = make_plan(experiment, read_choices(experiment, chosen(options)), catalog)
        cells = {trial.cell for trials in plan.trials.values() for trial in trials}
        assert len(cells) == len(options.cell), "exactly the cells that are named"


def test_the_commands_of_the_page_are_found() -> None:
    assert {command[1] for command in commands()} >= {"run", "compare", "remark", "regressions", "hosts", "release"}


def test_every_task_of_the_weekly_run_is_explained_and_no_other(bag: DagBag) -> None:
    there = {task_id.rpartition(".")[2] for task_id in bag.dags["weekly"].task_ids}
    assert tasks_of("Of the DAG `weekly`") == there


def test_every_task_of_an_experiment_is_explained_and_no_other(bag: DagBag) -> None:
    there = {
        task_id.rpartition(".")[2]
        for name, dag in bag.dags.items()
        if name not in {"weekly", "baselines", "remarks"}
        for task_id in dag.task_ids
    }
    assert tasks_of("Of an experiment's DAG") == there
