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
    PublishedMetric,
    PublishedMetrics,
    PublishedValue,
    Sweep,
)
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.catalog import Catalog
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
    *(Experiment, Part, Sweep, Platform, Hardware, Placement, Machine, Size, Setup, HostSettings, Disk, Mount),
    Project,
    *(Published, PublishedValue, PublishedMetrics, PublishedMetric, PublishedScenarios, Scenario, ScenarioCell),
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


NO_STUDIES = {
    "smoke": "it shows that a pipeline works, and asks nothing",
    "tpch": "no paper and no question of its own: the example of a declared workload of queries",
    "ycsb": "no paper and no question of its own: the example of a declared workload of scripts",
    "ch_benchmark": "no paper and no question of its own: the example of two declared workloads at once",
}
STUDIES = sorted(
    path.stem for path in (project_root() / "dags" / "experiments").glob("*.yaml") if path.stem not in NO_STUDIES
)
STUDY_SECTIONS = [
    "The question",
    "What is measured",
    "How to run it",
    "Where it differs from the paper, and why",
    "What it needs at full scale",
    "How long",
    "How to read its report",
    "Limits",
]
STUDY_WORDS_MAX = 900


def test_experiments_without_a_page_are_there() -> None:
    assert [
        name for name in NO_STUDIES if not (project_root() / "dags" / "experiments" / f"{name}.yaml").exists()
    ] == []


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_a_page_with_the_same_sections_and_all_that_it_sweeps(name: str) -> None:
    page = (project_root() / "docs" / "studies" / f"{name}.md").read_text()
    experiment = Catalog(project_root()).experiment(name)
    assert re.findall(r"^## (.+)$", page, flags=re.MULTILINE) == STUDY_SECTIONS
    swept = {word for key, sweep in experiment.sweeps.items() for word in (key, sweep.workload)}
    assert sorted(word for word in swept if f"`{word}`" not in page) == []
    prose = re.sub(r"\]\([^)]*\)", "]", page)  # an address of a link is no word, nor is a bar of a table
    assert len([word for word in prose.split() if re.search(r"\w", word)]) <= STUDY_WORDS_MAX


CELL_WORDS = 45
"""A cell of a table with more words than this is a section that has not been written yet."""
LONGER_CELLS = {
    "docs/operate.md": 3,
    "docs/reference.md": 8,
    "docs/ui.md": 3,
    "docs/words.md": 1,
    "docs/workload.md": 2,
}
"""How many a page still has. This list only becomes shorter."""
RIDDLES = (
    *(r"\bby hand\b", r"\bthe button\b", r"\bmend(ed|s)?\b", r"\banew\b", r"\bbrought back\b", r"\bgone on with\b"),
    *(r"\b(is|are|was) told\b", r"\bwrites? (it |nothing )?over\b"),
    *(r"\b[Ss]o it is (where|with)\b", r"\bthe others'(?! \w)", r"\bof theirs\b", r"\bits own instead\b"),
)
"""Words that a newcomer has to guess at. Plain ones: manually, Trigger, fix, again, reported, overwrite, if."""
RIDDLES_LEFT = (
    *("README.md", "docs/archive.md", "docs/develop.md", "docs/operate.md", "docs/reference.md", "docs/regression.md"),
    *("docs/workload.md", "docs/tutorials/own_tables.md"),
)
"""Pages that still have some. This list only becomes shorter."""


def prose(page: str) -> str:
    """A page without its code, in which words mean something else."""
    text = (project_root() / page).read_text()
    return re.sub(r"^```.*?^```|`[^`\n]*`", "code", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_cells_of_tables_are_short(page: str) -> None:
    rows = [line for line in prose(page).splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    longer = [cell for cell in cells if len(cell.split()) > CELL_WORDS]
    assert len(longer) <= LONGER_CELLS.get(page, 0), "\n".join(longer)


@pytest.mark.parametrize("page", sorted(set(PAGES) - {"CHANGELOG.md", *RIDDLES_LEFT}))
def test_sentences_have_none_of_the_words_that_a_newcomer_must_guess(page: str) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)", "]", prose(page)))
    assert [found.group() for riddle in RIDDLES for found in re.finditer(rf".{{0,40}}{riddle}", text)] == []
