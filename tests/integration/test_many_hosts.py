"""640 hosts: real sshds on 640 loopback addresses of this machine, all served by one worker."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.errors import HostError
from clusterbench.hosts import conformance, facts, setup, ssh, telemetry
from clusterbench.hosts.fleet import DROP_PAGE_CACHE, HANDSHAKES_AT_ONCE, Fleet
from clusterbench.spec import Platform
from clusterbench.spec.host_settings import items
from clusterbench_lab import processes
from clusterbench_lab.bench.memory import peak_mb
from clusterbench_lab.many_hosts import ADDRESSES_PER_SSHD, ManyHosts, many_hosts

pytestmark = [pytest.mark.lab, pytest.mark.alone]  # 640 hosts are all that this machine can do
HOSTS = 640
SOME_HOSTS = 200
SESSION = "session=$(ps -o ppid= -p $PPID)"
"""Of the script: the sshd that serves it, above the one that ends it in time."""
FLUSH_S_MAX = 30.0
"""What a flush on all of them may take, with 2 cores."""
COLLECTED = 100
"""Hosts whose telemetry is collected at once. A collector takes most of one percent of a processor: 640 of them would
need more than this machine has, as 640 machines do not."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[ManyHosts]:
    with many_hosts(HOSTS) as made:
        yield made


@pytest.fixture(scope="module")
def fleet(hosts: ManyHosts) -> Iterator[Fleet]:
    with Fleet(hosts.addresses) as made:
        yield made


@pytest.fixture(scope="module")
def some(hosts: ManyHosts) -> Iterator[Fleet]:
    """More than are served at once, for what takes this machine a tenth of a second on each host."""
    with Fleet(hosts.addresses[:SOME_HOSTS]) as made:
        yield made


@contextmanager
def stopped(hosts: ManyHosts, sshds: range) -> Iterator[list[str]]:
    """Sshds that do not answer, though the kernel goes on to accept for them. Yields the names of their hosts."""
    for sshd in sshds:
        os.kill(hosts.sshds[sshd].pid, signal.SIGSTOP)
    try:
        yield [name for sshd in sshds for name in hosts.served_by(sshd)]
    finally:
        for sshd in sshds:
            os.kill(hosts.sshds[sshd].pid, signal.SIGCONT)


@contextmanager
def silent_port(address: str) -> Iterator[int]:
    """A port that answers nothing at all: its queue is full, so the kernel drops what comes, as a lost host does."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind((address, 0))
        listener.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def lines_of(error: pytest.ExceptionInfo[HostError]) -> list[str]:
    return str(error.value).splitlines()


def test_a_script_runs_on_each_of_them(fleet: Fleet) -> None:
    answers = fleet.run(fleet.names, "set -- $SSH_CONNECTION; echo $3")
    assert {name: answer.output.strip() for name, answer in answers.items()} == {
        name: address.host for name, address in fleet.addresses.items()
    }
    assert len({answer.output for answer in answers.values()}) == HOSTS


def test_log_ins_at_once_are_bounded_and_a_host_is_logged_in_to_once(
    hosts: ManyHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = most = total = 0
    connect = ssh.asyncssh.connect

    async def counted(*args: object, **options: object) -> object:
        nonlocal now, most, total
        now, total = now + 1, total + 1
        most = max(most, now)
        try:
            return await connect(*args, **options)
        finally:
            now -= 1

    monkeypatch.setattr(ssh.asyncssh, "connect", counted)
    some = hosts.addresses[:200]
    with Fleet(some) as fleet:
        fleet.run(fleet.names, "true")
        fleet.run(fleet.names, "true")
    assert most == HANDSHAKES_AT_ONCE
    assert total == len(some)


def test_the_flush_of_all_takes_less_than_half_a_minute(fleet: Fleet) -> None:
    """As in a trial, which is logged in by then. They share this machine's page cache: one drops it, all write it back.

    Who may not drop it writes it back, too.
    """
    may = not os.geteuid() or not subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode
    fleet.run(fleet.names, "true")
    begun = time.monotonic()
    fleet.run_each(dict.fromkeys(fleet.names, "sync") | {fleet.names[0]: DROP_PAGE_CACHE if may else "sync"})
    assert time.monotonic() - begun < FLUSH_S_MAX


def test_facts_of_more_than_are_served_at_once_are_read(some: Fleet) -> None:
    found = facts.hosts(some)
    assert {one["address"] for one in found.values()} == {address.host for address in some.addresses.values()}
    assert {one["cpus"] for one in found.values()} == {len(os.sched_getaffinity(0))}
    assert max(one["clock_offset_uncertainty_ms"] for one in found.values()) < 1000, "each by a round trip of its own"


def test_more_than_are_served_at_once_are_set_up_and_compared(some: Fleet) -> None:
    """With what they have already: they share a kernel, in which each would note what another one has set."""
    kept = Path("/proc/sys/net/core/somaxconn").read_text().strip()
    group = {"sysctl": {"net.core.somaxconn": int(kept), "kernel.osrelease": "0"}}
    roles = [["client"], *[["segment"]] * (SOME_HOSTS - 1)]
    platform = Platform.model_validate(
        {
            "platform": "many",
            "title": "many",
            "engine": "greenplum",
            "cluster": "many",
            "hosts": {name: {"ssh": name, "roles": own} for name, own in zip(some.names, roles, strict=True)},
            "may": ["host_settings"],
            "setup": {"hosts": [group], "accepted": {"kernel.osrelease": "another kernel"}},
        }
    )
    setup.set_up(platform, some)
    declared = items(platform)
    rows = conformance.of_hosts(platform, declared, setup.read(some, declared))
    setup.put_back(platform, some)
    assert conformance.problem(platform, rows) == ""
    folded = {each.row.setting: each for each in conformance.fold(rows)}
    assert {setting: each.row.verdict for setting, each in folded.items()} == {
        "net.core.somaxconn": conformance.AS_DECLARED,
        "kernel.osrelease": conformance.ACCEPTED,
    }
    assert all(len(each.hosts) == SOME_HOSTS for each in folded.values())


def test_scripts_that_wait_do_so_on_all_hosts_at_the_same_time(fleet: Fleet) -> None:
    fleet.run(fleet.names, "true")
    begun = time.monotonic()
    fleet.run(fleet.names, "sleep 5")
    assert time.monotonic() - begun < 50  # which it would be in turns of 64


def test_files_reach_all_hosts_and_come_back(fleet: Fleet, tmp_path: Path) -> None:
    fleet.put_each({host: (f"{fleet.work_dir(host)}/files", {"name": host}) for host in fleet.names})
    places = {host: (f"{fleet.work_dir(host)}/files", tmp_path / host) for host in fleet.names}
    assert fleet.fetch_each(places, ["name"]) == {}
    assert {host: (tmp_path / host / "name").read_text() for host in fleet.names} == {n: n for n in fleet.names}


def test_dead_hosts_are_named_and_waited_for_once_and_all_at_the_same_time(hosts: ManyHosts) -> None:
    """Refusing, accepting without ever answering, and silent; far more of them than log in at once."""
    refusing, silent = hosts.served_by(6), hosts.served_by(7)
    with stopped(hosts, range(1, 6)) as hanging, silent_port("127.0.0.1") as port:
        dead = {*hanging, *refusing, *silent}
        instead: dict[str, dict[str, Any]] = {name: {"port": 1} for name in refusing}
        instead |= {name: {"host": "127.0.0.1", "port": port} for name in silent}
        asked = hosts.addresses[: 2 * len(dead)]  # as many that live
        with Fleet(dataclasses.replace(a, connect_timeout_s=4, **instead.get(a.name, {})) for a in asked) as fleet:
            begun = time.monotonic()
            answers, failures = fleet.try_each(dict.fromkeys(fleet.names, "echo here"))
            first_s = time.monotonic() - begun
            begun = time.monotonic()
            with pytest.raises(HostError) as caught:
                fleet.run(sorted(dead), "true")
            again_s = time.monotonic() - begun
    assert len(dead) > HANDSHAKES_AT_ONCE
    assert set(failures) == dead and set(answers) == set(fleet.names) - dead
    assert {answer.output for answer in answers.values()} == {"here\n"}
    for name in [*hanging, *silent]:
        assert failures[name] == (
            f"host {fleet.addresses[name]}: no connection within 4 s; is it up, and is the address right? "
            "(One that is only slow: 'conn_timeout' of its connection)"
        )
    for name in refusing:
        assert failures[name].startswith(f"host {fleet.addresses[name]}: cannot be reached:")
        assert failures[name].endswith("is sshd running there, and is the port right?")
    told = [line for line in lines_of(caught) if not line.startswith("and ")]
    assert set(told) <= set(failures.values()) and len(told) < len(dead), "many that fail alike are told once"
    assert all(re.search(rf"\b{name}\b", str(caught.value)) for name in dead), "each by its name"
    assert (
        first_s < 4 * 5
    )  # one after the other, 64 at once, would be more: and the living ones are logged in to as well
    assert again_s < 4, "what a single wait would take"


def test_a_host_that_stops_answering_in_the_middle_does_not_keep_the_others(hosts: ManyHosts, tmp_path: Path) -> None:
    noted = tmp_path / "session"
    hang = f"{SESSION}; echo $session >{noted}; kill -STOP $session; sleep 1"
    try:
        with Fleet(hosts.addresses[:ADDRESSES_PER_SSHD]) as fleet:
            fleet.run(fleet.names, "true")
            answers, failures = fleet.try_each(dict.fromkeys(fleet.names, "echo here") | {"host003": hang}, timeout_s=3)
            assert set(failures) == {"host003"} and len(answers) == ADDRESSES_PER_SSHD - 1
            assert failures["host003"].startswith(
                f"host {fleet.addresses['host003']}: no answer within 3 s to: {SESSION};"
            )
            assert failures["host003"].endswith("; is the host overloaded?")
            begun = time.monotonic()
        assert time.monotonic() - begun < 10  # closing does not wait for it
    finally:
        os.kill(int(noted.read_text()), signal.SIGKILL)  # what is stopped would outlast the sshd


def test_a_connection_that_breaks_in_the_middle_is_said_and_made_again(fleet: Fleet) -> None:
    answers, failures = fleet.try_each({"host010": f"{SESSION}; kill -KILL $session; sleep 5", "host011": "echo here"})
    assert answers["host011"].output == "here\n"
    assert failures["host010"].startswith(
        f"host {fleet.addresses['host010']}: the connection broke during: {SESSION}; kill -KILL $session; sleep 5 ("
    )
    assert fleet.run_on("host010", "echo back").output == "back\n"


def test_a_script_without_end_is_given_up_and_ended_on_the_host(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "END_S", 1)
    with pytest.raises(HostError, match=r"host host020 \(.*\): no answer within 1 s to: exec -a endless-4711 sleep"):
        fleet.run_on("host020", "exec -a endless-4711 sleep 600", timeout_s=1)
    deadline = time.monotonic() + 10
    while fleet.run_on("host021", "ps -eo args | grep -c '^endless-471[1]' || true").output.strip() != "0":
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_output_without_end_does_not_fill_the_memory(fleet: Fleet) -> None:
    before_mb = peak_mb()
    scripts = dict.fromkeys(fleet.names[:64], "echo here") | {"host030": "yes | head -c 1G"}
    answers, failures = fleet.try_each(scripts)
    grown_mb = peak_mb() - before_mb
    assert set(failures) == {"host030"} and len(answers) == 63
    assert failures["host030"] == (
        f"host {fleet.addresses['host030']}: more than 4 MiB came in answer to: yes | head -c 1G; "
        "have it write to a file instead"
    )
    assert grown_mb < 100
    assert fleet.run_on("host030", "echo here").output == "here\n"


def test_telemetry_is_collected_though_one_host_dies_meanwhile(hosts: ManyHosts, tmp_path: Path) -> None:
    with Fleet(hosts.addresses[:COLLECTED]) as fleet:
        telemetry.start(fleet, "telemetry/t")
        time.sleep(1.1)
        fleet.try_each({"host040": f"{SESSION}; kill -KILL $session; sleep 5"})
        fleet.addresses["host040"] = dataclasses.replace(fleet.addresses["host040"], port=1)
        failed = telemetry.stop(fleet, "telemetry/t")
        missing = telemetry.collect(fleet, "telemetry/t", tmp_path, failed)
        assert missing == list(failed.values())
        assert failed == {"host040": failed.get("host040")}
        assert missing[0].startswith(f"host {fleet.addresses['host040']}: cannot be reached")
        fleet.addresses["host040"] = dataclasses.replace(fleet.addresses["host040"], port=hosts.addresses[0].port)
        fleet.forget_unreachable()
        telemetry.clean_up(fleet, "telemetry/t")
        for host in fleet.names:
            assert host == "host040" or telemetry.last_samples(tmp_path / host, 1)


def test_too_few_open_files_are_said_before_anything_is_begun(hosts: ManyHosts) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))\n"
        "from clusterbench.hosts.fleet import Fleet\n"
        "from clusterbench.hosts.address import Address\n"
        "Fleet(Address(f'h{n}', '127.0.0.1', 1, '') for n in range(640)).__enter__()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert "640 hosts need as many connections, and this process may have 600 files open, 896 at least" in done.stderr
    assert "ulimit -Hn 896, or LimitNOFILE=896" in done.stderr


def test_a_soft_limit_of_open_files_is_raised(hosts: ManyHosts) -> None:
    addresses = [dataclasses.astuple(address) for address in hosts.addresses[:100]]
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))\n"
        "import json, sys\n"
        "from clusterbench.hosts.fleet import Fleet\n"
        "from clusterbench.hosts.address import Address\n"
        "with Fleet(Address(*each) for each in json.load(sys.stdin)) as fleet:\n"
        "    print(len(fleet.run(fleet.names, 'true')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(addresses), capture_output=True, text=True, check=True
    )
    assert done.stdout == "100\n"


def test_the_hosts_end_with_whoever_started_them() -> None:
    script = (
        "import os, signal\n"
        "from clusterbench_lab.many_hosts import many_hosts\n"
        "with many_hosts(20) as hosts:\n"
        "    print(*(record.pid for record in hosts.sshds), hosts.folder, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True).stdout.split()
    subprocess.run(["rm", "-rf", said.pop()], check=True)
    assert len(said) == 2
    time.sleep(0.5)
    assert not [pid for pid in said if (facts := processes.facts_of(int(pid))) and not facts.is_ending()]
