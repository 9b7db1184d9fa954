"""Many hosts at once over real sshd, and what is said when one of them is not as it should be."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncssh
import psutil
import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.errors import ClusterbenchError, HostAwayError, HostError
from clusterbench.base.paths import project_root
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.catalog import Catalog
from clusterbench_lab import Lab
from tests import BLOCK
from tests.integration.helpers import changed

pytestmark = pytest.mark.lab
PLATFORM = Catalog(project_root()).platform("lab_db1")


def refusal(connections: Connections) -> str:
    with Fleet.of(PLATFORM, connections) as fleet, pytest.raises(HostError) as caught:
        fleet.run(fleet.names, "true")
    return str(caught.value)


def test_a_script_runs_on_all_hosts(connections: Connections) -> None:
    with Fleet.of(PLATFORM, connections) as fleet:
        answers = fleet.run(fleet.names, "echo $CLUSTERBENCH_HOST")
    assert {name: answer.output for name, answer in answers.items()} == {n: f"{n}\n" for n in ("client", "etl", "db1")}


def test_hosts_are_served_at_once_not_one_after_the_other(connections: Connections) -> None:
    """Each waits for the others, who all would wait in vain if they had turns. The lab's hosts share their files."""
    with TemporaryDirectory() as met, Fleet.of(PLATFORM, connections) as fleet:
        Path(met).chmod(0o777)
        all_here = f'[ "$(ls {met} | wc -l)" = {len(fleet.names)} ]'
        fleet.run(
            fleet.names,
            f"touch {met}/$CLUSTERBENCH_HOST; for _ in $(seq 600); do {all_here} && exit 0; sleep .1; done; exit 1",
        )


def test_a_script_that_fails_says_host_status_and_words(connections: Connections) -> None:
    with Fleet.of(PLATFORM, connections) as fleet, pytest.raises(HostError) as caught:
        fleet.run(["etl"], "echo no room left >&2; exit 7")
    assert "host etl (" in str(caught.value)
    assert "exit status 7" in str(caught.value)
    assert "no room left" in str(caught.value)


def test_a_failing_command_in_the_middle_ends_a_script(connections: Connections) -> None:
    with Fleet.of(PLATFORM, connections) as fleet:
        answer = fleet.run_on("client", "false | true\necho went on", check=False)
    assert answer.exit_status != 0 and "went on" not in answer.output


def test_an_unreachable_host_is_named_with_what_to_check(connections: Connections) -> None:
    message = refusal(changed(connections, "lab_etl", port=1))
    assert message.startswith("host etl (") and ":1)" in message
    assert "cannot be reached" in message and "is sshd running there, and is the port right?" in message
    assert "db1" not in message  # the others answered


def test_a_dead_host_is_not_waited_for_twice(connections: Connections) -> None:
    with socket.create_server((f"127.0.{BLOCK}.250", 0)) as silent:  # it accepts, and never greets
        dead = {"host": f"127.0.{BLOCK}.250", "port": silent.getsockname()[1], "extra": {"conn_timeout": "1"}}
        with Fleet.of(PLATFORM, changed(connections, "lab_etl", **dead)) as fleet:
            for _ in range(3):
                with pytest.raises(HostError, match=r"host etl .*no connection within 1 s"):
                    fleet.run(["etl"], "true")
        assert calls_at(silent) == 1


def calls_at(server: socket.socket) -> int:
    server.setblocking(False)
    calls = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            calls += 1
    return calls


def test_all_hosts_can_be_logged_in_to_beside_other_work_and_one_that_is_dead_is_told_when_it_is_used(
    connections: Connections,
) -> None:
    with Fleet.of(PLATFORM, changed(connections, "lab_etl", port=1)) as fleet:
        fleet.dial()
        until = time.monotonic() + 30
        while not (set(fleet._connections) == {"client", "db1"} and "etl" in fleet._unreachable):
            assert time.monotonic() < until, (fleet._connections, fleet._unreachable)
            time.sleep(0.02)
        before = dict(fleet._connections)
        answers, failures = fleet.try_each(dict.fromkeys(fleet.names, "true"))
        assert (set(answers), set(failures)) == ({"client", "db1"}, {"etl"})
        assert "is sshd running there" in failures["etl"]
        assert fleet._connections == before, "nobody is logged in to twice"


def test_a_fleet_that_is_left_while_it_logs_in_leaves_no_connection(connections: Connections) -> None:
    slow = {"conn_timeout": "60"}
    with socket.create_server((f"127.0.{BLOCK}.251", 0)) as silent:  # it accepts, and never greets
        port = silent.getsockname()[1]
        with Fleet.of(
            PLATFORM, changed(connections, "lab_etl", host=f"127.0.{BLOCK}.251", port=port, extra=slow)
        ) as fleet:
            fleet.dial()
            assert fleet.run_on("client", "echo here").output == "here\n"
            begun = time.monotonic()
        assert time.monotonic() - begun < 10
        accepted, _ = silent.accept()
        with accepted:
            accepted.settimeout(10)
            assert accepted.recv(100) == b"", "it was closed"


def test_a_changed_host_key_is_refused_and_explained(connections: Connections) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    message = refusal(changed(connections, "lab_db1", extra={"host_key": other}))
    assert "host db1" in message and "host key is not the pinned one" in message
    assert "put the new key into 'host_key' of its connection" in message


def test_a_refused_login_names_key_and_account(connections: Connections, tmp_path: Path) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    (tmp_path / "other").write_bytes(key.export_private_key())
    message = refusal(changed(connections, "lab_client", extra={"key_file": str(tmp_path / "other")}))
    account = connections("lab_client").login
    assert "the login was refused" in message and f"authorized_keys of {account}" in message


def test_a_missing_key_file_is_named(connections: Connections) -> None:
    message = refusal(changed(connections, "lab_client", extra={"key_file": "/nowhere/key"}))
    assert "/nowhere/key does not exist" in message


def test_a_connection_without_a_host_key_is_refused(connections: Connections) -> None:
    with pytest.raises(ClusterbenchError, match=r"has no 'host_key' in its extra.*ssh-keyscan.*pin it"):
        Fleet.of(PLATFORM, changed(connections, "lab_client", extra={"host_key": "", "known_hosts": "/nowhere"}))


def test_files_arrive_private_and_come_back(connections: Connections, tmp_path: Path) -> None:
    with Fleet.of(PLATFORM, connections) as fleet:
        place = f"{fleet.work_dir('client')}/test files; $(x)"
        fleet.put("client", place, {"a.txt": "A", "b.sh": "echo b", "log.1": "1", "log.2": "2"})
        modes = fleet.run_on("client", f'cd "{fleet.work_dir("client")}/test files; \\$(x)"; stat -c "%n %a" *').output
        fleet.fetch("client", place, ["a.txt", "log.*", "absent"], tmp_path)
    assert modes.split() == ["a.txt", "600", "b.sh", "700", "log.1", "600", "log.2", "600"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "log.1", "log.2"]


def test_scripts_and_secrets_are_in_no_process_list(connections: Connections, lab: Lab) -> None:
    with Fleet.of(PLATFORM, connections) as fleet:
        seen = fleet.run_on("client", "secret=tell-nobody-4711; ps -ef | grep -c '[t]ell-nobody' || true").output
    assert seen.strip() == "0"


@pytest.mark.parametrize("killed", ["tar", "gzip"])
def test_a_transfer_that_is_killed_on_its_host_is_an_outage(
    lab: Lab, connections: Connections, tmp_path: Path, killed: str
) -> None:
    """As when the host is switched off in its middle: what is left to read there is read when it is back."""
    place = lab.layout.host_dir("client") / "large"
    place.mkdir(mode=0o777)
    with (place / "file").open("wb") as file:
        file.truncate(50 * 2**30)  # of no blocks; it takes a minute to read

    def kill() -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for process in psutil.process_iter(["name", "cwd"]):
                if (process.info["name"], process.info["cwd"]) == (killed, str(place)):
                    process.kill()
                    return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        is_told = pytest.raises(HostAwayError, match="it was killed on the host, which may have restarted")
        with Fleet.of(PLATFORM, connections) as fleet, is_told:
            fleet.fetch("client", str(place), ["file"], tmp_path)
    finally:
        killer.join()
        (place / "file").unlink()
        place.rmdir()
