"""The journey *I own a cluster*, followed to the letter on a cluster that is not the lab's: from ``init`` to removal.

Its cluster is a Greenplum of 16 segment hosts, ours a PostgreSQL on one host: names, addresses and ports of the page's
cluster are replaced by ours, and what commands print is compared with what the page shows. Airflow is not started:
runs are made in one process, as ``dag.test()`` does. Blocks of ``sh`` and ``sql`` are not followed: they install and
start programs, and make databases.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import from_file
from clusterbench.base.paths import project_root
from clusterbench.hosts import lease
from clusterbench.spec.catalog import Catalog
from tests import BLOCK
from tests.integration import own_cluster
from tests.integration.beside import clusterbench
from tests.integration.own_cluster import PASSWORD, Cluster
from tests.integration.test_tutorials import BLOCK as BLOCK_OF_A_PAGE
from tests.integration.test_tutorials import RUN_ID, is_shown

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1500)]
PAGE = project_root() / "docs" / "journeys" / "own_cluster.md"
NAME = "mine"


@dataclass
class Owner:
    """Somebody who does what the page says, in ``folder``, and from ``init`` on in a project there."""

    folder: Path
    cluster: Cluster
    ran: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    """Of its runs, as commands have named them; the last one is meant where the page names one."""

    @property
    def project(self) -> Path:
        return self.folder / "bench"

    @property
    def platform(self) -> Path:
        return self.project / "include/platforms" / f"{NAME}.yaml"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def ours(self, line: str) -> str:
        """A line of the page with our addresses, login and ports."""
        hosts, database = self.cluster.hosts, self.cluster.database
        port = str(hosts["client"].port)
        for theirs, own in {
            " 10.20.0.{101..116}": "",
            "10.20.0.10": hosts["client"].address,
            "10.20.0.11": hosts["etl"].address,
            "10.20.0.20": hosts["db1"].address,
            "gpadmin": self.cluster.account.name,
            "discover mine": f"discover mine --ssh-port {port}",
            "ssh -i": f"ssh -p {port} -o UserKnownHostsFile={self.known_hosts} -o StrictHostKeyChecking=accept-new -i",
            "psql -h": f"psql -p {database.port} -h",
        }.items():
            line = line.replace(theirs, own)
        return RUN_ID.sub(self.run_ids[-1], line) if self.run_ids else line

    def run(self, line: str) -> str:
        """What a line of the page prints. Fails where it fails."""
        self.ran.append(line.partition("\n")[0])
        command = self.ours(line)
        program = command.split()[0]
        said = self._clusterbench(command) if program == "clusterbench" else self._bash(command)
        if " run " in command:
            self.run_ids.append(RUN_ID.findall(said)[-1])
        if program == "ssh-keygen":  # what ssh-copy-id does is in a block that is not followed
            self.cluster.let_in(self.project / "clusterbench_key.pub")
        return said

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.project,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return "" if command.startswith("for ") else done.stdout  # ssh tells which hosts it met first

    def _clusterbench(self, command: str) -> str:
        arguments = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {command}"], cwd=self.project if self.project.exists() else self.folder,
            capture_output=True, text=True, check=True,
        ).stdout.split("\0")[1:-1]  # fmt: skip
        printed = self.folder / "printed"
        printed.write_text("")
        project = self.project if self.project.exists() else self.folder
        backend = json.dumps({"connections_file_path": str(self.project / "connections.json")})
        environment = {
            "AIRFLOW__SECRETS__BACKEND": "clusterbench.airflow.connections_file.ConnectionsFile",
            "AIRFLOW__SECRETS__BACKEND_KWARGS": backend,
            "CLUSTERBENCH_RETRY_DELAY_S": "0",
            "COLUMNS": "120",
        }
        status = clusterbench(arguments, project, environment, printed, project_root())
        assert status == 0, f"{command}: exit status {status}\n{printed.read_text()}"
        return printed.read_text()

    def write_connections(self, text: str) -> None:
        """The page's, each with our address and secrets."""
        database, storage = self.cluster.database, self.cluster.storage
        keys, at = storage.credentials, {"host": database.address, "port": database.port, "password": PASSWORD}
        bucket = {"bucket": "clusterbench", "endpoint_url": storage.endpoint_url}
        ours: Mapping[str, dict[str, Any]] = {
            "mine_database": at,
            "clusterbench_archive": {"login": keys.s3_access_key, "password": keys.s3_secret_key, "extra": bucket},
            "clusterbench_history": at,
        }
        theirs = json.loads(self.ours(text))
        assert theirs.keys() == ours.keys()
        for name, more in ours.items():
            extra = {**theirs[name].get("extra", {}), **more.get("extra", {})}
            theirs[name] |= {**more, **({"extra": extra} if extra else {})}
        (self.project / "connections.json").write_text(json.dumps(theirs))


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    with own_cluster.cluster(BLOCK) as made:
        made.make_database("bench")
        made.database.make_database_of("history", PASSWORD)
        yield Owner(tmp_path_factory.mktemp("owner"), made)


def sql(owner: Owner, query: str, database: str = "postgres") -> list[Any]:
    at = owner.cluster.database
    with psycopg.connect(
        host=at.address, port=at.port, user=at.settings.role, password=PASSWORD, dbname=database
    ) as opened:
        return [row[0] for row in opened.execute(query).fetchall()]


def test_the_page_leads_to_a_valid_run_and_takes_everything_away_again(owner: Owner, tmp_path: Path) -> None:
    roles = sql(owner, "SELECT rolname FROM pg_roles ORDER BY 1")
    for block in BLOCK_OF_A_PAGE.finditer(PAGE.read_text()):
        kind, text = block["kind"], block["text"]
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, shown = re.fullmatch(r"((?:.*\\\n)*.*)\n((?:.*\n)*)", part).groups()  # type: ignore[union-attr]
                printed = owner.run(line)
                assert is_shown(shown, printed), f"{line}\nthe page shows:\n{shown}\nprinted is:\n{printed}"
        elif kind == "json":
            owner.write_connections(text)
        elif kind == "yaml" and text.startswith("may:"):
            changed = re.sub(r"^may: .*\n", text, owner.platform.read_text(), flags=re.MULTILINE)
            assert changed != owner.platform.read_text()
            owner.platform.write_text(changed)
        elif kind == "yaml":
            assert block["path"] == f"include/platforms/{NAME}.yaml", "a file without its path"
            _is_in_order(text, tmp_path)
    _left_nothing(owner, roles)
    assert [line.split()[1] for line in owner.ran if line.startswith("clusterbench run")] == ["run", "run"]


def _is_in_order(text: str, folder: Path) -> None:
    """A whole platform's file, in a project of its own."""
    file = folder / f"include/platforms/{NAME}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    catalog = Catalog(folder)
    assert catalog.lint() == []
    platform = catalog.platform(NAME)
    assert not platform.template and platform.may == []
    if platform.engine == "greenplum":
        assert [host.ssh for host in platform.every_host.values()][-1] == "mine_sdw16"
    explained = [line for line in text.splitlines() if line and not line.startswith("title") and "#" in line]
    assert platform.engine != "greenplum" or len(explained) >= 12, "each line is explained"


def _left_nothing(owner: Owner, roles: list[str]) -> None:
    """On hosts and server; the history, which is a server's of its own on the page, is on ours."""
    assert sql(owner, "SELECT rolname FROM pg_roles ORDER BY 1") == roles
    assert "bench" not in sql(owner, "SELECT datname FROM pg_database")
    assert sql(owner, "SELECT count(*) FROM pg_db_role_setting") == [0]
    for host in owner.cluster.hosts.values():
        assert not (host.home / ".clusterbench").exists()
        assert (host.home / ".ssh/authorized_keys").read_text() == own_cluster.SOMEBODY_S_KEY
        note = hashlib.sha256(host.host_key().encode()).hexdigest()[:16]
        assert not list(Path(lease.FOLDER).glob(f"clusterbench.*{note}")), "nobody holds it"


def test_each_leave_has_made_the_cells_possible_that_the_page_says(owner: Owner) -> None:
    """After the page: without leave cold cells were not applicable, with it all but ORCA's were measured."""
    store = Store.of(from_file(owner.project / "connections.json")("clusterbench_archive"))
    looked, allowed = (
        {record.trial.id: record.outcome for record in RunArchive(store, "smoke", run_id).trials()}
        for run_id in dict.fromkeys(owner.run_ids)
    )
    assert {outcome for trial, outcome in looked.items() if "cold" in trial} == {"not_applicable"}
    assert {outcome for trial, outcome in looked.items() if "warm" in trial} == {"completed"}
    assert {outcome for trial, outcome in allowed.items() if "lookups" in trial} == {"completed"}
    assert sql(owner, "SELECT count(*) FROM history.runs", "history") == [2], "both are followed over time"


def test_connections_are_their_owner_s_and_every_host_is_pinned(owner: Owner) -> None:
    file = owner.project / "connections.json"
    assert oct(file.stat().st_mode)[-3:] == "600"
    known = json.loads(file.read_text())
    for name, host in zip(("client", "etl", "db"), owner.cluster.hosts.values(), strict=True):
        assert known[f"{NAME}_{name}"]["extra"]["host_key"] == host.host_key()
    declared = yaml.safe_load(owner.platform.read_text())
    assert "template" not in declared and list(declared["hosts"]) == ["client", "etl", "db"]
