"""The ways into a cluster as customers have them: bastions, passwords, proxies, TLS with texts of certificates."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from clusterbench import engines
from clusterbench.base import postgres_session
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import EngineError, HostError
from clusterbench.engines import Engine
from clusterbench.hosts.fleet import Fleet
from clusterbench.run import steps
from clusterbench.spec.platform import Platform
from tests.field.conftest import needs_field
from tests.field.database import NAME, ROLE, SERVICE
from tests.field.hosts import BEHIND_S, STRICT_PORT
from tests.field.network import DATA, MANAGEMENT
from tests.field.world import BASTION, PASSPHRASE, Field
from tests.integration.helpers import changed, generated_run

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600), needs_field]

WITHOUT_KEY: dict[str, Any] = {"private_key": "", "private_key_passphrase": "", "look_for_keys": "false"}
NO_CERTIFICATE: dict[str, Any] = {"sslcert": "", "sslkey": ""}


def fleet_of(world: Field, connections: Connections) -> Fleet:
    return Fleet.of(Platform.model_validate(world.platform), connections)


def refusal(world: Field, connections: Connections, host: str = "client") -> str:
    with fleet_of(world, connections) as fleet, pytest.raises(HostError) as caught:
        fleet.run([host], "true")
    return str(caught.value)


def database_of(world: Field, fleet: Fleet, connections: Connections) -> Engine:
    platform = Platform.model_validate(world.platform)
    return engines.engine_class(platform)(platform, fleet, connections("field_database"), None)


def without(connections: Connections, conn_id: str, *keys: str) -> Connections:
    """The same connections, but for one that lacks these keys of its extra."""

    def find(wanted: str) -> Any:
        found = connections(wanted)
        kept = {key: value for key, value in found.extra.items() if key not in keys or wanted != conn_id}
        return dataclasses.replace(found, extra=kept)

    return find


# The world is what it says.


def test_hosts_are_behind_the_bastion_and_nowhere_else(world: Field) -> None:
    for address in (world.wires.management("client"), world.wires.data("db1")):
        routed = subprocess.run(["ip", "route", "get", address], capture_output=True, text=True, check=False).stdout
        assert f"cbf{world.wires.key}" not in routed
    assert world.gate.run("cat /proc/sys/net/ipv4/ip_forward") == "0"
    assert {host.run("uname -n") for host in (world.gate, world.client, world.db1)} == {"gate", "client", "db1"}


def test_sessions_speak_german_and_those_of_the_client_are_late(world: Field) -> None:
    connection = world.connections()("field_gate")
    with fleet_of(world, world.connections()) as fleet:
        said = fleet.run_on(
            "client", "env -u LC_ALL psql --host=/nowhere 2>&1; env -u LC_ALL ls /nowhere 2>&1", check=False
        )
        clocks = fleet.clocks(fleet.names)
    assert "Verbindung zum Server" in said.output and "Datei oder Verzeichnis nicht gefunden" in said.output
    assert connection.login == "bench"
    assert round(clocks["db1"].offset_s - clocks["client"].offset_s) == BEHIND_S


def test_server_belongs_to_a_unit(world: Field) -> None:
    assert world.unit_of_server() == SERVICE
    said = world.db1.run(f"systemctl stop {SERVICE} 2>&1 || true", user="bench")
    assert said.startswith(f"Failed to stop {SERVICE}: ")
    assert world.db1.run(f"systemctl is-active {SERVICE}", user="bench") == "active"
    world.db1.run(f"systemctl stop {SERVICE}")
    assert world.db1.run(f"systemctl is-active {SERVICE} || true") == "inactive"
    world.db1.run(f"systemctl start {SERVICE}")
    assert world.unit_of_server() == SERVICE


# Hosts.


def test_the_text_of_a_key_leads_through_the_bastion(world: Field) -> None:
    with fleet_of(world, world.connections()) as fleet:
        said = fleet.run(fleet.names, "uname -n; whoami")
    assert {name: answer.output.split() for name, answer in said.items()} == {
        "client": ["client", "bench"],
        "db1": ["db1", "bench"],
    }


@pytest.mark.parametrize(("passphrase", "said"), [("", "needs 'private_key_passphrase'"), ("x", "does not open with")])
def test_a_key_without_its_passphrase_says_so(world: Field, passphrase: str, said: str) -> None:
    extra = {"private_key_passphrase": passphrase}
    assert said in refusal(world, changed(world.connections(), "field_client", extra=extra))


def test_passwords_do_over_pam(world: Field) -> None:
    connections = world.connections()
    for conn_id in ("field_gate", "field_client", "field_db1"):
        connections = changed(connections, conn_id, extra=WITHOUT_KEY, password=world.account.password)
    with fleet_of(world, connections) as fleet:
        assert {answer.output for answer in fleet.run(fleet.names, "whoami").values()} == {"bench\n"}
    wrong = changed(connections, "field_client", password="wrong")
    assert "is the password of bench right, and does its sshd allow passwords?" in refusal(world, wrong)


def test_a_program_may_be_the_way(world: Field, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_text(world.private_key)
    opened = ["ssh-keygen", "-q", "-p", "-P", PASSPHRASE, "-N", "", "-f", str(key)]
    subprocess.run(opened, check=True, capture_output=True)
    (tmp_path / "known").write_text(f"{world.wires.bastion} {world.gate.host_key}\n")
    command = f"ssh -F none -i {key} -o UserKnownHostsFile={tmp_path}/known -W %h:%p bench@{world.wires.bastion}"
    extra = {"jump_host": "", "host_proxy_cmd": command}
    with fleet_of(world, changed(world.connections(), "field_client", extra=extra)) as fleet:
        assert fleet.run_on("client", "uname -n").output == "client\n"


def test_a_bastion_that_is_down_is_named_with_the_host_behind_it(world: Field) -> None:
    for address, port, what in (
        (world.wires.bastion, 2299, "is sshd running there, and is the port right?"),
        (world.wires.silent, 22, "is it up, and is the address right?"),
    ):
        said = refusal(
            world, changed(world.connections(), "field_gate", host=address, port=port, extra={"conn_timeout": 2})
        )
        assert (
            said.startswith("host client (") and f"its bastion, host field_{BASTION} (bench@{address}:{port})" in said
        )
        assert what in said


def test_a_bastion_that_forbids_forwarding_is_told_from_a_dead_host(world: Field) -> None:
    said = refusal(world, changed(world.connections(), "field_gate", port=STRICT_PORT))
    assert f"host client (bench@{world.wires.management('client')}:22 through {world.wires.bastion})" in said
    assert "may it forward there (AllowTcpForwarding, PermitOpen)" in said


def test_a_dead_host_behind_the_bastion_is_named_and_the_others_answer(world: Field) -> None:
    nobody = world.wires.nobody()
    connections = changed(world.connections(), "field_db1", host=nobody, extra={"conn_timeout": 4})
    with fleet_of(world, connections) as fleet:
        good, failed = fleet.try_each(dict.fromkeys(fleet.names, "uname -n"))
    assert good["client"].output == "client\n"
    assert f"host db1 (bench@{nobody}:22 through {world.wires.bastion})" in failed["db1"]
    assert "is the host up?" in failed["db1"] or "is it up" in failed["db1"]


def test_a_host_that_is_cut_off_is_named(world: Field) -> None:
    world.wires.cut_off("db1")
    try:
        said = refusal(world, changed(world.connections(), "field_db1", extra={"conn_timeout": 2}), "db1")
    finally:
        world.wires.connect("db1")
    assert f"host db1 (bench@{world.wires.management('db1')}:22 through {world.wires.bastion})" in said
    assert "is it up" in said


def test_a_name_whose_first_address_is_dead_still_leads_in(world: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first would be waited for longer than a connection may take: only who tries the second meanwhile gets in."""
    asked = []

    async def known(self: Any, host: str, port: int, **kind: Any) -> list[Any]:
        asked.append(host)
        addresses = (world.wires.silent, world.wires.bastion) if host == "gate.field" else (host,)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", known)
    with fleet_of(world, changed(world.connections(), "field_gate", host="gate.field")) as fleet:
        assert fleet.run_on("client", "uname -n").output == "client\n"
    assert "gate.field" in asked


def test_work_folders_are_apart_though_the_home_is_shared(world: Field) -> None:
    with fleet_of(world, world.connections()) as fleet:
        fleet.put_each({host: (fleet.work_dir(host), {"mine": host}) for host in fleet.names})
        found = {
            host: fleet.run_on(host, f"cat {fleet.work_dir(host)}/mine; ls ~/.clusterbench").output
            for host in fleet.names
        }
    assert found["client"].startswith("client") and found["db1"].startswith("db1")
    assert all({"client", "db1"} <= set(said.removeprefix(host).split()) for host, said in found.items())


# The database.


def test_the_database_is_reached_through_the_client_over_tls(world: Field) -> None:
    with fleet_of(world, world.connections()) as fleet:
        engine = database_of(world, fleet, world.connections())
        (row,) = engine.query(  # type: ignore[attr-defined]
            "SELECT ssl, client_dn, client_addr::text FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
            "WHERE pid = pg_backend_pid()"
        )
    assert row["ssl"] and row["client_dn"] == f"/CN={ROLE}"
    assert row["client_addr"].startswith(world.wires.data("client"))


@pytest.mark.long
def test_a_session_without_the_clients_certificate_is_refused_in_words(world: Field) -> None:
    connections = without(world.connections(), "field_database", *NO_CERTIFICATE)
    with fleet_of(world, connections) as fleet, pytest.raises(EngineError) as caught:
        database_of(world, fleet, connections).query("SELECT 1")  # type: ignore[attr-defined]
    said = str(caught.value)
    assert "ertifi" in said and "'field_database'" in said and NAME in said


@pytest.mark.long
def test_a_server_of_another_name_is_refused(world: Field) -> None:
    address = world.wires.data("db1")
    connections = changed(world.connections(), "field_database", host=address)
    with fleet_of(world, connections) as fleet, pytest.raises(EngineError) as caught:
        database_of(world, fleet, connections).query("SELECT 1")  # type: ignore[attr-defined]
    assert "ertifi" in str(caught.value) and address in str(caught.value)


def test_no_session_is_without_tls(world: Field) -> None:
    connections = changed(
        without(world.connections(), "field_database", "sslrootcert"), "field_database", extra={"sslmode": "disable"}
    )
    with fleet_of(world, connections) as fleet:
        port = fleet.forwarded("client", NAME, 5432)
        with pytest.raises(psycopg.OperationalError):
            postgres_session.connect(connections("field_database"), "bench", psycopg.rows.tuple_row, local_port=port)


def test_data_goes_over_the_data_network(world: Field) -> None:
    """Ten times what would have gone there anyway, by psql on the client, as a driver does."""
    million = "SELECT repeat('x', 1000000) FROM generate_series(1, 20)"
    with fleet_of(world, world.connections()) as fleet:
        fleet.run(fleet.names, "true")
        endpoint = database_of(world, fleet, world.connections()).endpoint(pooled=False)  # type: ignore[attr-defined]
        folder = f"{fleet.work_dir('client')}/tls"
        fleet.put("client", folder, {**endpoint.files, "pass": f"*:*:*:*:{endpoint.password}\n"})
        where = " ".join(f"{key}={value}" for key, value in endpoint.parameters.items())
        place = f"host={endpoint.host} port={endpoint.port} user={endpoint.login} dbname={endpoint.database}"
        before = {wire: world.wires.bytes_through("client", wire) for wire in (MANAGEMENT, DATA)}
        asked = f"cd {folder}; PGPASSFILE=pass psql '{place} {where}' -Atc \"{million}\" | wc -c"
        assert int(fleet.run_on("client", asked).output) > 20_000_000
        went = {wire: world.wires.bytes_through("client", wire) - bytes_ for wire, bytes_ in before.items()}
    assert went[DATA] > 20_000_000 and went[MANAGEMENT] < 1_000_000


def test_a_run_over_all_that_is_valid(world: Field, connections: Connections, project: Path) -> None:
    """Its sessions are encrypted, and what is read at start only was set by the unit's restart."""
    with generated_run(connections, "key_value", "field", sweeps=["concurrency"], repetitions=1) as run:
        (trial, *_) = steps.validate_data(run, "field")
        record = steps.measure(run, "field", trial.id)
        assert world.unit_of_server() == SERVICE
    assert (record.outcome, record.reason) == ("completed", "")
    assert record.measurements["throughput_per_s"] > 0
    assert record.evidence["driver"]["session"]["tls"].startswith("TLSv1")
    facts = run.archive.need_json("platforms/field/facts.json")
    assert facts["engine"]["settings"]["shared_buffers"] == "96MB"
    assert world.unit_of_server() == SERVICE


@pytest.mark.long
def test_drivers_have_a_role_and_a_certificate_of_their_own(
    world: Field, connections: Connections, project: Path
) -> None:
    with fleet_of(world, connections) as fleet:
        engine = database_of(world, fleet, connections)
        engine.execute("CREATE ROLE driver LOGIN PASSWORD 'of the driver'")  # type: ignore[attr-defined]
    own = world.database.authority.sign("driver")
    drivers = dataclasses.replace(
        connections("field_database"),
        id="field_driver",
        login="driver",
        password="of the driver",
        extra={**connections("field_database").extra, "sslcert": own.certificate, "sslkey": own.key},
    )
    declared = {**world.platform, "driver_database": "field_driver"}
    (project / "include/platforms/field.yaml").write_text(yaml.safe_dump(declared))

    def find(conn_id: str) -> Connection:
        return drivers if conn_id == "field_driver" else connections(conn_id)

    with generated_run(find, "smoke", "field", sweeps=["lookups"], repetitions=1) as run:
        (trial, *_) = steps.validate_data(run, "field")
        record = steps.measure(run, "field", trial.id)
    assert (record.outcome, record.reason) == ("completed", "")
    facts = run.archive.need_json("platforms/field/facts.json")["engine"]
    assert (facts["driver_login"], facts["driver_is_superuser"]) == ("driver", False)
