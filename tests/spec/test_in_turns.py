"""Platforms in turns: which cannot be up at the same time, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.in_turns import TAKE_OUT, in_turns, problems
from tests.spec.project import valid_project

CATALOG = Catalog(project_root())


def platform(name: str, server: str = "", **changes: Any) -> Platform:
    """A client that all have, and a server of its own."""
    hosts = {
        "client": {"ssh": "client", "roles": ["client"]},
        "etl": {"ssh": "etl", "roles": ["etl"]},
        "db": {"ssh": server or f"{name}_db", "roles": ["coordinator"]},
    }
    declared = {"title": name, "engine": "postgres", "cluster": "lab", "database": f"{name}_database", "hosts": hosts}
    return Platform.model_validate({"platform": name, **declared, **changes})


def test_shared_hosts_that_drive_load_are_no_problem() -> None:
    assert problems([platform("a"), platform("b"), platform("c")]) == []


def test_a_shared_server_is_refused() -> None:
    (said,) = problems([platform("a", "one"), platform("b"), platform("c", "one")])
    assert said == (
        "platforms_in_turns: 'a' and 'c' share a server: hosts.db of 'a' and hosts.db of 'c' have the same connection "
        "'one', so what one of them runs would be load beside the other's trials. Only hosts that drive load (client, "
        f"etl, load) may be shared; {TAKE_OUT}"
    )


def test_a_server_on_the_client_of_the_other_is_refused() -> None:
    (said,) = problems([platform("a"), platform("b", "client")])
    assert "hosts.client of 'a' and hosts.db of 'b' have the same connection 'client'" in said


def test_one_database_under_two_names_is_refused() -> None:
    (said,) = problems([platform("a"), platform("b", database="a_database")])
    assert said == (
        "platforms_in_turns: 'a' and 'b' have the same database ('a_database'), which is one server with one "
        f"configuration; {TAKE_OUT}"
    )


def test_shared_hosts_must_have_one_cluster() -> None:
    (said,) = problems([platform("a"), platform("b", cluster="other")])
    assert said == (
        "platforms_in_turns: 'a' and 'b' share host 'client', and their clusters are 'lab' and 'other': write the same "
        "'cluster' into both files, so that no other run uses the host"
    )


def test_native_and_virtual_on_one_machine_are_refused() -> None:
    named = [CATALOG.platform(name) for name in ("lab_native", "lab_vm64")]
    (said,) = problems(named)
    assert said == (
        "platforms_in_turns: 'lab_native' and 'lab_vm64' are on one physical machine: hosts of both have 'machine: "
        f"server2', and only one of them can have it; {TAKE_OUT}"
    )


def test_layouts_of_machines_are_refused() -> None:
    named = [CATALOG.platform(name) for name in ("lab_db1", "lab_made_retail_vm1")]
    assert problems(named)[0] == (
        "platforms_in_turns: 'lab_made_retail_vm1' has 'machines', and a run has the machines of one layout up at a "
        "time; take it out of this key: layouts take turns by themselves"
    )


def test_all_runs_take_them_in_one_order_whatever_the_file_says() -> None:
    """Two runs that want the same two clusters wait for the same one first."""
    experiment = CATALOG.experiment("retail").model_copy(update={"platforms_in_turns": ["b", "c", "a"]})
    named = [platform("b", cluster="y"), platform("z"), platform("c", cluster="x"), platform("a", cluster="y")]
    turns = [[one.platform for one in turn] for turn in in_turns(experiment, named)]
    assert turns == [["c", "a", "b"], ["z"]]
    alone = experiment.model_copy(update={"platforms_in_turns": []})
    assert [[one.platform for one in turn] for turn in in_turns(alone, named)] == [["b"], ["z"], ["c"], ["a"]]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("[one_host]", "names 'one_host' alone, and it takes two to take turns; name another one of 'platforms', or"),
        ("[one_host, one_host]", "'one_host' stands twice; name it once"),
        ("[one_host, one_hots]", "'one_hots' is none of 'platforms'; did you mean 'one_host'"),
    ],
)
def test_what_is_no_two_platforms_of_the_experiment_is_refused(tmp_path: Path, named: str, said: str) -> None:
    catalog = valid_project(tmp_path)
    path = tmp_path / "dags/experiments/smallest.yaml"
    path.write_text(path.read_text() + f"platforms_in_turns: {named}\n")
    with pytest.raises(SpecError) as caught:
        catalog.experiment("smallest")
    assert f"platforms_in_turns: {said}" in str(caught.value)


def test_lint_says_which_file_and_line_and_no_dag_is_made_of_it(tmp_path: Path) -> None:
    catalog = valid_project(tmp_path)
    path, other = tmp_path / "dags/experiments/smallest.yaml", tmp_path / "include/platforms/twin.yaml"
    text = (tmp_path / "include/platforms/one_host.yaml").read_text()
    other.write_text(text.replace("platform: one_host", "platform: twin").replace("one_database", "two"))
    key = "platforms_in_turns: [twin, one_host]"
    path.write_text(path.read_text().replace("platforms: [one_host]", f"platforms: [one_host, twin]\n{key}"))
    line = path.read_text().splitlines().index(key) + 1
    (problem,) = catalog.lint()
    assert problem.startswith(f"{path}:{line}: platforms_in_turns: 'twin' and 'one_host' share a server: hosts.all of ")
    assert "smallest" not in [experiment.experiment for experiment, _ in catalog.experiments()]
    other.write_text(other.read_text().replace("one_ssh", "two_ssh"))
    assert Catalog(tmp_path).lint() == []


def test_of_those_that_are_not_offered_here_none_is_left_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PLATFORMS", "lab_db1,lab_retail_native")
    retail = Catalog(project_root()).experiment("retail")
    assert (retail.platforms, retail.platforms_in_turns) == (["lab_db1"], [])
