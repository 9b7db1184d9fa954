"""The reference names everything that can be written, and nothing that cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root
from clusterbench.report.run.trust import CHECKS
from clusterbench.spec import (
    Experiment,
    Part,
    Platform,
    Published,
    PublishedDifference,
    PublishedMetric,
    PublishedMetrics,
    PublishedValue,
    Sweep,
    SweepFinding,
)
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.machines import Budget, MachineDisks, Machines, Template
from clusterbench.spec.placement import Machine, Placement, Size
from clusterbench.spec.platform import Hardware
from clusterbench.spec.project import Project
from clusterbench.spec.scenarios import PublishedScenarios, Scenario, ScenarioCell
from clusterbench.spec.setup import Disk, HostSettings, Mount, Setup
from clusterbench.workloads import load_workload
from clusterbench.workloads.declared.model import (
    Asked,
    DeclaredFactor,
    DeclaredTable,
    LoadedFrom,
    Parameter,
    RowsByDuckdb,
    Suite,
    WorkloadFile,
)

REFERENCE = (project_root() / "docs" / "reference.md").read_text()


MODELS = [
    *(Machines, MachineDisks, Budget, Template),
    *(
        Experiment,
        Part,
        Sweep,
        SweepFinding,
        Platform,
        Hardware,
        Placement,
        Machine,
        Size,
        Setup,
        HostSettings,
        Disk,
        Mount,
    ),
    Project,
    *(
        Published,
        PublishedValue,
        PublishedDifference,
        PublishedMetrics,
        PublishedMetric,
        PublishedScenarios,
        Scenario,
        ScenarioCell,
    ),
]


@pytest.mark.parametrize(
    "model", [WorkloadFile, DeclaredFactor, DeclaredTable, LoadedFrom, RowsByDuckdb, Parameter, Asked, Suite]
)
def test_every_key_of_a_declared_workload_is_on_its_page(model: type) -> None:
    page = (project_root() / "docs" / "workload.md").read_text()
    keys = [field.alias or name for name, field in model.model_fields.items()]  # type: ignore[attr-defined]
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize("model", MODELS)
def test_every_key_is_in_the_reference(model: type) -> None:
    missing = [name for name in model.model_fields if f"`{name}`" not in REFERENCE]  # type: ignore[attr-defined]
    assert missing == []


@pytest.mark.parametrize("workload", workload_names())
def test_every_factor_is_there_with_its_default_and_levels(workload: str) -> None:
    section = next(part for part in REFERENCE.split("\n## Factors of")[1:] if f"`{workload}`" in part.splitlines()[0])
    for name, factor in load_workload(workload).factors.items():
        row = next(line for line in section.splitlines() if line.startswith(f"| `{name}` |"))
        assert str(factor.default) in row.split("|")[2]
        for choice in factor.choices if "as above" not in row else ():
            assert f"`{choice}`" in row, f"{name}: {choice}"
    rows = re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], flags=re.MULTILINE)
    assert rows == [name for name in rows if name in load_workload(workload).factors], "a factor that is not there"


def test_readme_lists_the_eight_checks_by_the_titles_that_reports_have() -> None:
    trust = (project_root() / "README.md").read_text().split("## How a number earns trust")[1].split("\n## ")[0]
    titles = dict(re.findall(r"^(\d)\. \*\*(.+?)\.?\*\*", trust, flags=re.MULTILINE))
    assert titles == {str(number): title for number, title in CHECKS.items()}


PAGES = [
    "README.md",
    "CHANGELOG.md",
    *(str(path.relative_to(project_root())) for path in (project_root() / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_file_a_page_links_to_is_there(page: str) -> None:
    path = project_root() / page
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text())
    assert links or page != "README.md"
    assert [link for link in links if not (path.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """The names of its headings, as Git hosts make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_section_a_page_links_to_is_there(page: str) -> None:
    path = project_root() / page
    links = re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", path.read_text())
    found = [(link, name) for link, name in links if name not in anchors(path.parent / link if link else path)]
    assert found == []
