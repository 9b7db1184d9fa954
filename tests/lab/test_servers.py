"""The lab without Airflow: it comes up, mends itself, and touches nothing of anybody else's."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import asyncssh
import boto3
import psycopg
import pytest
from botocore.exceptions import ClientError

from clusterbench.base.errors import LabError
from clusterbench_lab import Lab, maven
from clusterbench_lab.layout import DATABASE_HOSTS, HOSTS, PARTITIONS, PROJECT_DIR
from clusterbench_lab.postgres import binary_dir
from clusterbench_lab.processes import Record, boot_id, facts_of
from tests import BLOCK

from .looking import alive, command_lines, connections, files_with_secrets, listening, processes_of, secrets_of

pytestmark = pytest.mark.lab

WITHOUT_AIRFLOW = [
    *(host for host in HOSTS if host not in PARTITIONS),
    *(f"{host}_postgres" for host in DATABASE_HOSTS if host not in PARTITIONS),
    "s3",
    "metadata",
]


def pids(lab: Lab) -> dict[str, int | None]:
    return {name: lab.pid(name) for name in WITHOUT_AIRFLOW}


def on_host(lab: Lab, host: str, command: str, **login: object) -> str:
    """Run a command as a task would: with the key of the connection, against the host key of the connection."""
    known = connections(lab)[f"lab_{host}"]
    trusted = f"[{known['host']}]:{known['port']} {known['extra']['host_key']}\n"

    async def run() -> str:
        options = {
            "username": known["login"],
            "client_keys": [known["extra"]["key_file"]],
            "known_hosts": asyncssh.import_known_hosts(trusted),
            "agent_path": None,
            "config": None,
            **login,
        }
        async with asyncssh.connect(known["host"], known["port"], **options) as connection:
            done = await connection.run(command, check=True)
        return str(done.stdout).strip()

    return asyncio.run(run())


def connect(lab: Lab, database: str = "db1") -> psycopg.Connection:
    known = connections(lab)[f"lab_{database}_postgres"]
    return psycopg.connect(
        host=known["host"],
        port=known["port"],
        user=known["login"],
        password=known["password"],
        dbname=known["schema"],
        autocommit=True,
    )


def s3_client(lab: Lab):
    known = connections(lab)["clusterbench_archive"]
    return boto3.client(
        "s3",
        endpoint_url=known["extra"]["endpoint_url"],
        region_name=known["extra"]["region_name"],
        aws_access_key_id=known["login"],
        aws_secret_access_key=known["password"],
    )


@pytest.fixture
def stranger():
    """Somebody else's process."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    assert process.poll() is None, "the lab ended a process that is not its own"
    process.kill()
    process.wait()


def test_all_servers_run_and_a_second_up_changes_nothing(lab: Lab) -> None:
    before = pids(lab)
    assert None not in before.values()
    lab.up(airflow=False)
    assert pids(lab) == before
    states = {server.name: server.state for server in lab.status()}
    assert {states[name] for name in WITHOUT_AIRFLOW} == {"running"}
    assert states["scheduler"] == "stopped"


def test_two_at_once_end_in_one_lab(lab: Lab) -> None:
    before = pids(lab)
    command = [sys.executable, "-m", "clusterbench_lab", "up", "--no-airflow"]
    environment = {**os.environ, "CLUSTERBENCH_LAB_DIR": str(lab.lab_dir)}
    lab.stop_server("s3")
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    after = pids(lab)
    assert after.pop("s3") not in (None, before.pop("s3"))
    assert after == before


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_knows_its_name_and_takes_jobs(lab: Lab, host: str) -> None:
    work_dir = connections(lab)[f"lab_{host}"]["extra"]["work_dir"]
    said = on_host(lab, host, f"echo $CLUSTERBENCH_HOST; cd {work_dir} && touch here && rm here; id -u")
    name, user_id = said.split()
    assert name == host
    assert user_id != "0"


def test_a_host_lets_in_only_the_labs_key(lab: Lab) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        on_host(lab, "client", "true", client_keys=[asyncssh.generate_private_key("ssh-ed25519")])
    with pytest.raises(asyncssh.PermissionDenied):
        on_host(lab, "client", "true", client_keys=[], password="anything")


def test_postgres_is_set_up_for_benchmarks_and_wants_a_password(lab: Lab) -> None:
    with connect(lab) as connection:
        for name, value in {"shared_buffers": "256MB", "max_connections": "300", "fsync": "on"}.items():
            assert connection.execute(f"SHOW {name}").fetchone() == (value,)
        for extension in ("pg_buffercache", "pg_prewarm"):
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        connection.execute("CHECKPOINT")
        known = connection.info
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=known.host, port=known.port, user=known.user, dbname=known.dbname)


def test_an_object_is_written_once(lab: Lab) -> None:
    client, bucket = s3_client(lab), connections(lab)["clusterbench_archive"]["extra"]["bucket"]
    client.put_object(Bucket=bucket, Key="run/manifest.json", Body=b"first", IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        client.put_object(Bucket=bucket, Key="run/manifest.json", Body=b"second", IfNoneMatch="*")
    assert client.get_object(Bucket=bucket, Key="run/manifest.json")["Body"].read() == b"first"


def test_up_mends_what_was_killed_and_keeps_its_data(lab: Lab) -> None:
    with connect(lab) as connection:
        connection.execute("DROP TABLE IF EXISTS kept")
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    before = pids(lab)
    for name in ("client", "db1_postgres", "s3"):
        os.kill(before[name], signal.SIGKILL)
    time.sleep(0.2)
    states = {server.name: server.state for server in lab.status()}
    assert [states[name] for name in ("client", "db1_postgres", "s3")] == ["died"] * 3
    lab.up(airflow=False)
    after = pids(lab)
    changed = {name for name in WITHOUT_AIRFLOW if after[name] != before[name]}
    assert changed == {"client", "db1_postgres", "s3"}
    with connect(lab) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    assert on_host(lab, "client", "echo $CLUSTERBENCH_HOST") == "client"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("s3", marks=pytest.mark.long),
        pytest.param("db1_postgres", marks=pytest.mark.long),
        "client",
    ],
)
def test_a_server_killed_a_moment_ago_is_not_taken_for_alive(lab: Lab, name: str) -> None:
    for _ in range(3):
        before = lab.pid(name)
        os.kill(before, signal.SIGKILL)
        lab.start_server(name)
        assert lab.pid(name) not in (None, before)


def test_a_database_restarted_over_ssh_is_still_ours(lab: Lab) -> None:
    before = lab.pid("db2_postgres")
    data_dir = lab.lab_dir / "hosts" / "db2" / "pgdata"
    on_host(lab, "db2", f"{binary_dir()}/pg_ctl -D {data_dir} -l {data_dir}/../log/mine.log -w restart")
    after = lab.pid("db2_postgres")
    assert after not in (None, before)
    lab.up(airflow=False)
    assert lab.pid("db2_postgres") == after
    lab.stop_server("db2_postgres")
    assert not alive(after)
    lab.start_server("db2_postgres")
    with connect(lab, "db2") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_taken_port_is_left_to_whoever_has_it(lab: Lab) -> None:
    lab.stop_server("s3")
    lab.stop_server("db1_postgres")
    with socket.socket() as first, socket.socket() as second:
        taken = []
        for listener, name in ((first, "s3"), (second, "db1_postgres")):
            server = next(server for server in lab.status() if server.name == name)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((server.address, server.port))
            listener.listen()
            listener.setblocking(False)
            taken.append(server.port)
        lab.up(airflow=False)
        ports = {server.name: server.port for server in lab.status()}
        assert ports["s3"] != taken[0]
        assert ports["db1_postgres"] != taken[1]
        with connect(lab) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert s3_client(lab).list_buckets()["Buckets"][0]["Name"] == "clusterbench"
        for listener in (first, second):
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_a_stale_record_does_not_make_a_stranger_ours(lab: Lab, stranger: int) -> None:
    lab.stop_server("s3")
    lab.stop_server("db1_postgres")
    facts = facts_of(stranger)
    record_file = lab.layout.records_dir / "s3.json"
    Record(stranger, facts.start_ticks - 1, boot_id(), "earlier").save(record_file)
    postmaster = lab.lab_dir / "hosts" / "db1" / "pgdata" / "postmaster.pid"
    postmaster.write_text(f"{stranger}\n{postmaster.parent}\n1\n5432\n\n{lab.layout.address('db1')}\n1 1\nready\n")
    assert lab.pid("s3") is None
    assert lab.pid("db1_postgres") is None
    lab.up(airflow=False)
    assert None not in pids(lab).values()
    lab.stop_server("s3")
    Record(stranger, facts.start_ticks, "the boot before", "earlier").save(record_file)
    lab.stop_server("s3")
    lab.up(airflow=False)


def test_secrets_are_in_private_files_only(lab: Lab) -> None:
    found = files_with_secrets(lab)
    names = {path.name for path in found}
    assert {"credentials.json", "connections.json", "client_key", "s3proxy.properties"} <= names
    assert {f"{path}: {path.stat().st_mode & 0o777:o}" for path in found if path.stat().st_mode & 0o077} == set()
    assert {path for path in found if path.suffix == ".log"} == set()
    for host in HOSTS:
        assert (lab.lab_dir / "hosts" / host / "ssh" / "host_key").stat().st_mode & 0o077 == 0
    others = lab.lab_dir.stat().st_mode & 0o077
    assert others == (0o011 if os.geteuid() == 0 else 0)


def test_no_secret_is_on_a_command_line(lab: Lab) -> None:
    secrets = secrets_of(lab).values()
    assert not [path for path, command in command_lines() if any(secret in command for secret in secrets)]


def test_nothing_listens_beyond_this_machine(lab: Lab) -> None:
    addresses = listening(processes_of(lab))
    assert len(addresses) >= 5
    assert all(address.startswith(f"127.0.{lab.layout.block}.") for address in addresses), addresses


@pytest.mark.long
def test_down_leaves_nothing_and_spares_strangers(lab: Lab, stranger: int) -> None:
    on_host(lab, "etl", "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo started")
    assert len(processes_of(lab)) > len(WITHOUT_AIRFLOW)
    lab.down()
    assert processes_of(lab) == set()
    assert {server.state for server in lab.status()} == {"stopped"}
    assert alive(stranger)
    lab.down()
    lab.up(airflow=False)


def test_every_host_has_hadoop_where_platforms_look_for_it(lab: Lab) -> None:
    for host in ("client", "master", "worker1"):
        jars = on_host(lab, host, f"ls {lab.lab_dir}/hosts/{host}/work/hadoop/lib")
        assert "hadoop-mapreduce-examples-" in jars
        assert "clusterbench-lab.jar" in jars


def test_another_jar_than_the_one_locked_is_refused(lab: Lab, tmp_path: Path) -> None:
    """As if a repository had been changed; the pom and the jars are the real ones."""
    listed = (PROJECT_DIR / "include" / "hadoop" / "jars.sha256").read_text()
    changed = tmp_path / "jars.sha256"
    changed.write_text(listed.replace(listed[:8], "00000000", 1))
    library_dir = tmp_path / "lib"
    shutil.copytree(lab.lab_dir / "hadoop" / "lib", library_dir)
    (library_dir / "clusterbench-lab.jar").unlink()
    with pytest.raises(LabError, match=r"hadoop: Maven brought other files than .*jars\.sha256 lists: FastInfoset"):
        maven._verify("hadoop", library_dir, changed)
    assert not library_dir.exists()


def test_an_unknown_server_is_named_with_those_there_are(lab: Lab) -> None:
    with pytest.raises(LabError, match=r"no server 'shceduler'.*scheduler"):
        lab.start_server("shceduler")


def test_a_server_that_ends_at_once_shows_its_log(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.stop_server("s3")
    monkeypatch.setattr("clusterbench_lab.s3._JVM_OPTIONS", ["-XX:NoSuchOption"])
    with pytest.raises(LabError, match=rf"s3 \(s3 on 127\.0\.{lab.layout.block}\.13:\d+\): it ended[^§]*NoSuchOption"):
        lab.start_server("s3")
    monkeypatch.undo()
    lab.up(airflow=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's lab runs as another user")
def test_a_folder_the_labs_user_cannot_pass_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    with pytest.raises(LabError, match=r"does not let that user through[^§]*chmod o\+x"):
        Lab(closed / "lab", block=BLOCK + 2).up(airflow=False)
