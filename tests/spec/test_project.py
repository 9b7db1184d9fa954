"""A project of one's own: what it offers, what it hides, and what is wrong in its file."""

from __future__ import annotations

import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import PROJECT_FILE, ROOT, built_in_root, within
from clusterbench.report import addresses
from clusterbench.spec.catalog import OFFERED, is_offered, project_catalog
from clusterbench.spec.platform import pool_of
from clusterbench.spec.project import connection_id, dag_id, hiding, matches, name_of_dag, project_of

LAB = built_in_root() / "include/platforms/lab_db1.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With one platform, ``ours``."""
    (tmp_path / "include/platforms").mkdir(parents=True)
    ours = LAB.read_text().replace("platform: lab_db1", "platform: ours")
    (tmp_path / "include/platforms/ours.yaml").write_text(ours)
    _write(tmp_path)
    monkeypatch.setenv(ROOT, str(tmp_path))
    monkeypatch.delenv(OFFERED, raising=False)
    return tmp_path


def _write(root: Path, more: str = "") -> None:
    (root / PROJECT_FILE).write_text("project: ours\n" + textwrap.dedent(more))


def _experiments() -> dict[str, list[str]]:
    return {one.experiment: [p.platform for p in platforms] for one, platforms in project_catalog().experiments()}


def test_its_own_platforms_are_offered_for_every_experiment_of_their_engine(project: Path) -> None:
    assert is_offered("ours") and not is_offered("lab_db1")
    assert project_catalog().experiment("smoke").platforms == ["ours"]
    found = _experiments()
    assert {"smoke", "key_value", "order_entry"} <= set(found)
    assert "terasort" not in found, "no platform of it has Hadoop"
    assert project_catalog().lint() == []


def test_its_file_may_name_platforms_and_experiments(project: Path) -> None:
    _write(project, "platforms: [lab_*]\nexperiments: ['s*', '!smoke', key_value]\n")
    assert is_offered("lab_db1") and not is_offered("ours")
    assert set(_experiments()) == {"key_value"}


def test_the_environment_outdoes_its_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFERED, "lab_db1")
    assert is_offered("lab_db1") and not is_offered("ours")


def test_an_experiment_of_its_own_stands_before_the_built_in_one_and_is_told(project: Path) -> None:
    own = project / "dags/experiments/smoke.yaml"
    own.parent.mkdir(parents=True)
    built_in = (built_in_root() / "dags/experiments/smoke.yaml").read_text()
    own.write_text(built_in.replace("title: Smoke test of the pipeline", "title: Our smoke"))
    assert project_catalog().experiment("smoke").title == "Our smoke"
    assert hiding() == ["dags/experiments/smoke.yaml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project: Ours\n", "project: "),
        ("project: ours\nplatform: [a]\n", "platform: unknown key; did you mean 'platforms'"),
        ("", "must be a mapping of keys to values"),
    ],
)
def test_what_is_wrong_in_its_file_is_told_with_its_place(project: Path, text: str, said: str) -> None:
    (project / PROJECT_FILE).write_text(text)
    with pytest.raises(SpecError) as error:
        project_of(project)
    assert str(error.value).startswith(f"{project / PROJECT_FILE}:") and said in str(error.value)
    assert project_catalog().lint() == error.value.problems


def test_patterns() -> None:
    assert matches("a", []) and matches("ab", ["a*"]) and not matches("ab", ["a*", "!ab"])
    assert matches("c", ["!ab"]) and not matches("c", ["a*", " "])


# Several projects in one Airflow.


def test_names_have_the_prefix_in_airflow_alone(project: Path) -> None:
    assert (dag_id("smoke"), name_of_dag("smoke")) == ("smoke", "smoke")
    _write(project, "dag_prefix: sales_\n")
    assert (dag_id("smoke"), name_of_dag("sales_smoke"), name_of_dag("ops_smoke")) == (
        "sales_smoke",
        "smoke",
        "ops_smoke",
    )
    assert pool_of(project_catalog().platform("ours")) == "sales_cluster_lab"
    assert addresses.dag_run("smoke", "manual__1") == "/dags/sales_smoke/runs/manual__1"


def test_connections_are_those_that_it_names(project: Path) -> None:
    _write(project, "connections: {clusterbench_archive: sales_archive}\n")
    assert connection_id("clusterbench_archive") == "sales_archive"
    assert (connection_id("clusterbench_history"), connection_id("ours")) == ("clusterbench_history", "ours")
    _write(project, "connections: {ours_postgres: other}\n")
    with pytest.raises(SpecError, match=r"clusterbench.yaml:2: connections.*'ours_postgres' is not allowed"):
        connection_id("ours_postgres")


def test_a_request_is_in_the_project_that_it_is_for(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / PROJECT_FILE).write_text("project: other\ndag_prefix: other_\n")
    with within(other):
        assert dag_id("smoke") == "other_smoke"
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(copy_context().run, dag_id, "smoke").result() == "other_smoke"
    assert dag_id("smoke") == "smoke"
