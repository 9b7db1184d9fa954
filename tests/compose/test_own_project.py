"""A project of one's own as containers: what ``clusterbench init`` writes for Docker is built, started, and measures.

Its hosts, its object storage and the server of its history are those of the composition. The two images that come from
a registry are replaced: Airflow's by one that is made like it, PostgreSQL's by ours.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench.airflow.api import PASSWORDS_FILE, AirflowApi
from clusterbench.base.paths import project_root
from clusterbench.cli.main import main
from tests.compose.containers import PROJECT, Composition, Containers
from tests.compose.test_compose import trials_of
from tests.integration.helpers import wait_for
from tests.integration.own_project import wheel

pytestmark = pytest.mark.timeout(900)

NAME = f"{PROJECT}-own"
STAND_IN = "clusterbench/apache-airflow"
SOMEBODY = 1234
"""The tests may run as root, as whom Airflow's image is not to be used."""
OVERRIDE = f"""\
services:
  metadata:
    image: clusterbench/services
    user: postgres
    command: [bash, -c, 'printf airflow >/tmp/password && exec
      "$$(/opt/clusterbench/make_database.sh /srv/metadata/data airflow /tmp/password)/postgres" -D /srv/metadata/data']
    healthcheck: {{test: [CMD, pg_isready, -q, -h, /tmp, -U, airflow]}}
  airflow:
    build: {{args: {{AIRFLOW_IMAGE: {STAND_IN}}}}}
    networks: [default, cluster]
networks:
  cluster: {{external: true, name: {PROJECT}-cluster}}
"""
HERE = {"s3": "s3", "metadata": "history"}
"""Services of the composition -> their names for the project: its own database has the name of one of them."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, containers: Containers) -> Path:
    """An empty folder, the release in ``wheels``, a platform and the connections."""
    folder = Path(tmp_path_factory.mktemp("own")) / "bench"
    assert main(["init", str(folder)]) == 0
    (folder / "wheels").mkdir()
    wheel(folder / "wheels")
    declared = (project_root() / "include/platforms/compose_db1.yaml").read_text()
    (folder / "include/platforms/ours.yaml").write_text(declared.replace("platform: compose_db1", "platform: ours"))
    owner = "PGPASSWORD=$(cat /run/secrets/metadata_password) createdb -h /tmp -U airflow -O history"
    containers.inside("metadata", f"{owner} own")
    known = json.loads(containers.secret("connections.json"))
    for one in known.values():
        if one.get("extra", {}).pop("key_file", None):
            one["extra"]["private_key"] = containers.secret("client_key")
    known["clusterbench_archive"]["extra"]["prefix"] = "own/"
    known["clusterbench_history"] |= {"host": HERE["metadata"], "schema": "own"}
    (folder / "connections.json").touch(mode=0o600)
    (folder / "connections.json").write_text(json.dumps(known))
    if os.getuid() == 0:
        os.chown(folder / "connections.json", SOMEBODY, SOMEBODY)
    (folder / "docker-compose.override.yaml").write_text(OVERRIDE)
    return folder


@pytest.fixture(scope="module")
def own(project: Path, containers: Containers) -> Iterator[Composition]:
    containers.docker("build", "-q", "-t", STAND_IN, str(Path(__file__).parent / "apache_airflow"))
    environment = {"AIRFLOW_UID": str(os.getuid() or SOMEBODY)}
    made = Composition(NAME, project, project.parent / "compose.log", environment)
    made.remove()
    try:
        made.compose("up", "-d", "metadata")
        for service, name in HERE.items():
            containers.docker("network", "connect", "--alias", name, f"{NAME}_default", containers.ids()[service])
        made.compose("up", "-d", "--build", timeout_s=600)
        made.wait_until_well()
        yield made
    finally:
        for service in HERE:
            containers.docker("network", "disconnect", "-f", f"{NAME}_default", containers.ids()[service])
        made.remove()
        assert made.left() == []


def api_of(own: Composition) -> AirflowApi:
    passwords = json.loads(own.inside("airflow", f"cat {PASSWORDS_FILE}"))
    return AirflowApi(f"http://127.0.0.1:{own.port}", "admin", passwords["admin"])


def test_the_image_has_the_project_and_no_secret(own: Composition, project: Path) -> None:
    image = own.inspect(own.ids()["airflow"])["Image"]
    listed = own.docker("run", "--rm", "--entrypoint", "find", image, "/opt/airflow/bench", "-type", "f").split()
    found = {Path(file).relative_to("/opt/airflow/bench") for file in listed}
    assert {str(file) for file in found if file.suffix not in ("", ".whl")} == {
        "clusterbench.yaml",
        "requirements.txt",
        "dags/benchmarks.py",
        "dags/problems.py",
        "include/platforms/ours.yaml",
    }
    secret = json.loads((project / "connections.json").read_text())["clusterbench_archive"]["password"]
    assert secret not in own.docker("inspect", image) + own.docker("inspect", own.ids()["airflow"])


def test_its_first_run_is_valid(own: Composition) -> None:
    assert "no problems" in own.inside("airflow", "clusterbench lint")
    assert "nothing to fix" in own.inside("airflow", "clusterbench doctor --project")
    assert "nothing to fix" in own.inside("airflow", "clusterbench doctor ours")
    said = own.inside("airflow", "clusterbench run smoke --platform ours", timeout_s=600)
    assert re.search(r"run smoke/\S+: valid", said), said


def test_a_rebuilt_image_goes_on_with_what_was_measured(own: Composition, project: Path) -> None:
    (run,) = api_of(own).call("GET", "/dags/smoke/dagRuns")["dag_runs"]
    text = (project_root() / "dags/experiments/smoke.yaml").read_text()
    (project / "dags/experiments/again.yaml").write_text(text.replace("experiment: smoke", "experiment: again"))
    own.compose("up", "-d", "--build", timeout_s=600)
    own.wait_until_well()
    api = api_of(own)
    wait_for(lambda: "again" in {dag["dag_id"] for dag in api.call("GET", "/dags")["dags"]}, "the DAG", 120)
    assert [one["dag_run_id"] for one in api.call("GET", "/dags/smoke/dagRuns")["dag_runs"]] == [run["dag_run_id"]]
    assert re.search(r"smoke/\S+ .*ours .* valid ", own.inside("airflow", "clusterbench list smoke"))
    trial = trials_of(api, "smoke", run["dag_run_id"])[0]
    assert "driver" in api.log("smoke", run["dag_run_id"], trial), "its logs are kept, too"
