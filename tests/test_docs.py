"""The pages have every key that can be written, and no other; their links lead somewhere."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from clusterbench.base.paths import project_root
from clusterbench.report.run.trust import CHECKS
from clusterbench.spec import Experiment, Platform, Published, Sweep
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_experiment
from clusterbench.spec.platform import Hosts
from clusterbench.spec.project import OfProject, Project
from clusterbench.spec.setup import Setup
from clusterbench.workloads import load_workload
from clusterbench.workloads.declared.model import WorkloadFile
from clusterbench_docs import keys
from clusterbench_docs.command import main
from clusterbench_docs.keys import descriptions, path_of, places

ROOT = project_root()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
WORDS_MAX = 30
"""In a cell that says what a key is for. What needs more is a section."""


def inside(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in a type: in its lists, mappings and unions, too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from inside(argument)


def with_nested(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for nested in inside(field.annotation):
            yield from with_nested(nested)


@cache
def models_that_are_loaded() -> list[type[BaseModel]]:
    """Every ``Model`` of a ``load(path, Model)`` in the package, and every model of its keys."""
    found: dict[str, type[BaseModel]] = {}
    package = ROOT / "plugins" / "clusterbench"
    for file in sorted(package.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "spec.loading import" not in source:
            continue
        module = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "load":
                root = getattr(importlib.import_module(module), call.args[1].id)  # type: ignore[attr-defined]
                found |= {path_of(model): model for model in with_nested(root)}
    return [found[path] for path in sorted(found)]


def test_the_walk_finds_what_is_read() -> None:
    found = models_that_are_loaded()
    assert {Experiment, Platform, Published, Project, WorkloadFile} <= set(found)
    assert len(found) > 40


@pytest.mark.parametrize("model", models_that_are_loaded(), ids=path_of)
def test_every_model_that_is_read_has_its_keys_on_a_page(model: type[BaseModel]) -> None:
    assert ("keys", path_of(model)) in places()


@pytest.mark.parametrize("model", models_that_are_loaded(), ids=path_of)
def test_every_key_says_what_it_is_for_in_few_words(model: type[BaseModel]) -> None:
    said = descriptions(model)
    assert [name for name in model.model_fields if name not in said] == []
    assert {name: text for name, text in said.items() if len(text.split()) > WORDS_MAX} == {}


@pytest.mark.parametrize("workload", workload_names())
def test_every_factor_is_on_the_page_and_says_what_it_is_for_in_few_words(workload: str) -> None:
    assert [one for kind, one in places() if kind == "factors" and workload in one.split()]
    helps = {name: factor.help for name, factor in load_workload(workload).factors.items()}
    assert {name: text for name, text in helps.items() if not 0 < len(text.split()) <= WORDS_MAX} == {}


def test_what_is_made_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def examples() -> list[dict[str, Any]]:
    return [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", REFERENCE, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize("example", examples(), ids=lambda example: next(iter(example)))
def test_the_examples_of_the_reference_are_allowed(example: dict[str, Any]) -> None:
    sweep = {"title": "a question", "workload": "key_value", "factors": {"clients": [1]}}
    match next(iter(example)):
        case "experiment":
            experiment = Experiment.model_validate(example)
            assert check_experiment(experiment, experiment.platforms, []) == []
        case "platforms":
            (whole,) = (one for one in examples() if "experiment" in one)
            assert Experiment.model_validate(whole | example).platforms_in_turns
        case "hosts":
            assert TypeAdapter(Hosts).validate_python(example["hosts"])
        case "vm1":
            assert len(TypeAdapter(Hosts).validate_python(example)) == 127
        case "setup":
            assert Setup.model_validate(example["setup"])
        case "optimizer":
            assert Sweep.model_validate(sweep | {"factors": example})
        case _:
            assert Sweep.model_validate(sweep | example)


def section(title: str) -> str:
    return REFERENCE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_variable_of_the_environment_is_in_the_reference_and_no_other() -> None:
    files = [ROOT / name for name in ("Makefile", "Dockerfile", "docker-compose.yaml")]
    for folder in ("plugins", "dags", "include"):
        files += [file for file in (ROOT / folder).rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    read = {
        name for file in files for name in re.findall(r"\bCLUSTERBENCH_[A-Z_]*[A-Z]", file.read_text(errors="ignore"))
    }
    listed = re.findall(r"^\| `(CLUSTERBENCH_\w+)` \|", section("The environment"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(read)


def test_every_connection_is_in_the_reference() -> None:
    """Those with fixed names, and every key that names one."""
    listed = section("Connections").split("\n### ")[0]
    named = {
        field.alias or name
        for model in models_that_are_loaded()
        for name, field in model.model_fields.items()
        if "name of a connection" in keys.words_for(field, path_of) and model is not Project
    }
    assert {"ssh", "database", "login", "connection"} <= named
    assert [name for name in (*get_args(OfProject), *sorted(named)) if f"`{name}`" not in listed] == []


def test_concepts_list_the_eight_checks_by_the_titles_that_reports_have() -> None:
    concepts = (project_root() / "docs" / "concepts.md").read_text()
    trust = concepts.split("## How a number earns trust")[1].split("\n## ")[0]
    titles = dict(re.findall(r"^(\d)\. \*\*(.+?)\.?\*\*", trust, flags=re.MULTILINE))
    assert titles == {str(number): title for number, title in CHECKS.items()}


def test_readme_is_short_and_has_two_commands_and_a_picture() -> None:
    text = (project_root() / "README.md").read_text()
    assert len(text.split()) <= 700
    assert text.count("![") == 1
    assert re.findall(r"^make (\w+)", text, flags=re.MULTILINE) == ["run", "test"]
    assert [name for name in ("own_cluster", "add", "mail") if f"](docs/journeys/{name}.md)" not in text] == []


def test_concepts_are_one_page() -> None:
    assert len((project_root() / "docs" / "concepts.md").read_text().split()) <= 1500


def test_no_page_is_missing_from_the_front_page() -> None:
    docs = project_root() / "docs"
    linked = set(re.findall(r"\]\(([^)#:\s]+\.md)\)", (docs / "index.md").read_text()))
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")} - {"index.md"}
    assert sorted(pages - linked) == []


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
LONGER_CELLS: dict[str, int] = {}
"""How many a page still has. This list only becomes shorter."""
RIDDLES = (
    *(r"\bby hand\b", r"\bthe button\b", r"\bmend(ed|s)?\b", r"\banew\b", r"\bbrought back\b", r"\bgone on with\b"),
    *(r"\b(is|are|was) told\b", r"\bwrites? (it |nothing )?over\b"),
    *(r"\b[Ss]o it is (where|with)\b", r"\bthe others'(?! \w)", r"\bof theirs\b", r"\bits own instead\b"),
)
"""Words that a newcomer has to guess at. Plain ones: manually, Trigger, fix, again, reported, overwrite, if."""
RIDDLES_LEFT = ("docs/develop.md", "docs/journeys/own_cluster.md", "docs/operate.md", "docs/reference.md")
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
