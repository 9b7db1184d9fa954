"""What each experiment declares as its part is measured in the field, from the first step to the last, and is valid.

All but ``terasort``, which is of another engine: it needs a Hadoop, of which the field has none.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.paths import project_root
from clusterbench.run.run import Run
from clusterbench.run.weekly import choices_of
from clusterbench.spec.catalog import Catalog
from tests.field.conftest import needs_field
from tests.field.runs import measured

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1200), needs_field]

PARTS = [
    experiment.experiment
    for experiment, _ in Catalog(project_root()).experiments()
    if experiment.part is not None and "postgres" in Catalog(project_root()).engines_of(experiment)
]


@pytest.mark.parametrize("name", PARTS)
def test_the_part_of_an_experiment_is_valid(name: str, connections: Connections, project: Path) -> None:
    choices = choices_of(Catalog(project).experiment(name), "smoke", "part")
    assert choices is not None
    run = Run(name, f"test-{uuid.uuid4().hex[:12]}", connections)
    measured(run, "field", {**choices, "platforms": ["field"]})
    records = run.archive.trials()
    assert records and {(record.outcome, record.reason) for record in records} == {("completed", "")}
