"""``clusterbench init``: a project that is in order as it is made, in an empty folder and in one that is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from clusterbench import __version__
from clusterbench.cli.main import main
from tests.spec.test_project import LAB

VALUES = {"executor", "airflowVersion", "images", "volumes", "volumeMounts", "env", "logs", "createUserJob"}
"""Each was seen to have its effect in what the chart makes, which takes a key that it does not know without a word."""


@pytest.mark.long
def test_its_own_test_passes_and_finds_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its DAG files as Airflow reads them, by its own test, in a process that knows nothing of this one."""
    folder = tmp_path / "Our Benchmarks"
    assert main(["init", str(folder)]) == 0
    assert "project 'our_benchmarks'" in capsys.readouterr().out
    ours = LAB.read_text().replace("platform: lab_db1", "platform: ours")
    (folder / "include/platforms/ours.yaml").write_text(ours)
    assert _own_test(folder).returncode == 0
    (folder / "include/platforms/ours.yaml").write_text(ours.replace("engine: postgres", "engine: postgrse"))
    done = _own_test(folder)
    assert done.returncode == 1 and "unknown engine 'postgrse'; did you mean 'postgres'" in done.stdout


def _own_test(folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CLUSTERBENCH_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)


def test_nothing_that_is_there_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("README.md", "requirements.txt"):
        (tmp_path / name).write_text("ours\n")
    assert main(["init", str(tmp_path), "--project", "ours"]) == 0
    said = capsys.readouterr().out
    assert (tmp_path / "README.md").read_text() == (tmp_path / "requirements.txt").read_text() == "ours\n"
    assert "kept  README.md, because it exists" in said and "made  dags/benchmarks.py" in said
    assert main(["init", str(tmp_path), "--project", "ours"]) == 1
    assert "this folder is a project" in capsys.readouterr().err


def test_it_depends_on_the_version_that_made_it(tmp_path: Path) -> None:
    main(["init", str(tmp_path), "--project", "ours"])
    assert f"]=={__version__}\n" in (tmp_path / "requirements.txt").read_text()
    composed = yaml.safe_load((tmp_path / "docker-compose.yaml").read_text())
    backend = composed["services"]["airflow"]["environment"]["AIRFLOW__SECRETS__BACKEND_KWARGS"]
    assert json.loads(backend)["connections_file_path"] == "/run/secrets/connections.json"
    dockerfile = (tmp_path / "Dockerfile").read_text()
    assert f"AIRFLOW_IMAGE=apache/airflow:{version('apache-airflow')}\nFROM ${{AIRFLOW_IMAGE}}" in dockerfile
    assert "/connections.json" in (tmp_path / ".gitignore").read_text()


def test_values_for_kubernetes_name_the_image_and_the_connections_that_are_mounted(tmp_path: Path) -> None:
    main(["init", str(tmp_path), "--project", "our_benchmarks"])
    values = yaml.safe_load((tmp_path / "helm-values.yaml").read_text())
    assert set(values) == VALUES
    assert values["airflowVersion"] == version("apache-airflow")
    (volume,), (mount,) = values["volumes"], values["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert re.fullmatch(r"[a-z0-9-]+", volume["secret"]["secretName"]), "Kubernetes takes no underscore"
    environment = {one["name"]: one["value"] for one in values["env"]}
    assert all(isinstance(value, str) for value in environment.values()), "Kubernetes takes nothing else"
    backend = json.loads(environment["AIRFLOW__SECRETS__BACKEND_KWARGS"])
    file = f"{mount['mountPath']}/connections.json"
    assert backend["connections_file_path"] == environment["CLUSTERBENCH_CONNECTIONS"] == file


def test_an_image_is_made_of_what_is_named_and_of_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path), "--project", "ours"])
    ignored = (tmp_path / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*" and "!connections.json" not in ignored
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    capsys.readouterr()
    main(["doctor", "--project"])
    assert "dockerignore" not in capsys.readouterr().out
    (tmp_path / ".dockerignore").unlink()  # as a project of 0.2.0
    assert main(["doctor", "--project"]) == 0
    assert "there is no .dockerignore: connections.json" in capsys.readouterr().out


def test_a_folder_whose_name_is_none_asks_for_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "2026")]) == 1
    assert "'2026' is not allowed as a name" in capsys.readouterr().err and not (tmp_path / "2026").exists()


def test_airflow_and_the_command_line_read_the_same_files_and_log_in(tmp_path: Path) -> None:
    main(["init", str(tmp_path), "--project", "ours"])
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow/simple_auth_manager_passwords.json.generated").write_text('{"admin": "x y"}')
    done = subprocess.run(
        ["bash", "-euc", "source ./airflow.env; env -0"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    known = dict(line.split("=", 1) for line in done.stdout.split("\0") if "=" in line)
    backend = json.loads(known["AIRFLOW__SECRETS__BACKEND_KWARGS"])
    assert backend == {"connections_file_path": f"{tmp_path}/connections.json"}
    assert known["AIRFLOW__CORE__DAGS_FOLDER"] == f"{tmp_path}/dags"
    assert known["CLUSTERBENCH_AIRFLOW_PASSWORD"] == "x y"
    assert "/airflow/" in (tmp_path / ".gitignore").read_text()
