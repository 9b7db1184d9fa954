"""The hosts: programs, telemetry, homes, clocks, addresses and the speed between them, rights, space, language."""

from __future__ import annotations

import ipaddress
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shlex import quote

from clusterbench.base.errors import HostError
from clusterbench.base.scripts import script
from clusterbench.hosts import facts, telemetry, work_folders
from clusterbench.hosts.data_network import data_addresses
from clusterbench.hosts.facts_read import read
from clusterbench.hosts.fleet import Fleet
from clusterbench.hosts.sudoers import root_commands
from clusterbench.run.doctor.finding import Finding
from clusterbench.spec import Platform

CLOCK_LOOK_S, CLOCK_BAD_S = telemetry.CLOCKS_AGREE_S, 1.0
"""Hosts are sampled once a second, so an offset of a second cuts another host's second out of a window."""
SPACE_BYTES = 2 * 10**9
"""Of a work folder: drivers' logs and samples of some hours."""
SAMPLES_MIN = 2
PAIRS_MAX = 8
"""Hosts to which the client's speed is measured: one after the other, for a second each."""


def examine(fleet: Fleet, platform: Platform) -> Iterator[Finding]:
    """All of it; a check that fails is a finding, too. Hosts that cannot be logged in to are reported, and left out."""
    answers, lost = fleet.try_each(dict.fromkeys(fleet.names, "true"))
    for host, why in lost.items():
        yield Finding("login", host, why, "bad", "correct the host's connection, or the host")
    there = [host for host in fleet.names if host in answers]
    yield from (_login(fleet, host) for host in there)
    if lost and there:
        with Fleet(fleet.addresses[host] for host in there) as reached:
            yield from _examine(reached, platform, there)
    elif there:
        yield from _examine(fleet, platform, there)


def _examine(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """Of hosts that can be logged in to; they are all of the fleet's."""
    checks: Sequence[Callable[[Fleet, Platform, list[str]], Iterator[Finding]]] = (
        *(_work_folders, _of_facts, _telemetry, _clocks, _rights, _tools, _addresses, _speed),
    )
    for check in checks:
        try:
            yield from check(fleet, platform, there)
        except HostError as error:
            name = check.__name__.strip("_").replace("_", " ")
            yield Finding(name, "hosts", str(error).splitlines()[0], "bad", "see the message")


def _login(fleet: Fleet, host: str) -> Finding:
    address = fleet.addresses[host]
    if address.host_key:
        return Finding("login", host, "by SSH, its key is pinned")
    if address.known_hosts:
        return Finding("login", host, f"by SSH, its key is in {address.known_hosts}")
    remedy = "write its public key into 'host_key' of its connection"
    return Finding("login", host, "by SSH, but its key is not checked", "look", remedy)


def _work_folders(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:  # noqa: ARG001  as all
    """Of one that hosts share a run says more, at set-up."""
    work, shared_with = fleet.work_dirs(there), work_folders.sharing(fleet, there)
    answers = fleet.run_each({host: f"df -B1 --output=avail {quote(work[host])} | tail -n 1" for host in there})
    remedy = "leave 'work_dir' out of the connections (then each host has its own), or name a folder that is local"
    for host, answer in answers.items():
        free = answer.output
        if others := shared_with.get(host):
            shared = f"{work[host]} is shared with {', '.join(others[:3])}"
            yield Finding("work folder", host, shared, "bad", remedy)
        else:
            yield Finding("work folder", host, "its own")
        if int(free) < SPACE_BYTES:
            found = f"{int(free) / 1e9:.1f} GB free in {work[host]}"
            yield Finding(
                "free space", host, found, "bad", f"free some space: at least {SPACE_BYTES / 1e9:g} GB are needed"
            )


def _of_facts(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """Programs with their versions, and the language."""
    scripts = {host: facts.probe([work]) for host, work in fleet.work_dirs(there).items()}
    found = {host: read(answer.output) for host, answer in fleet.run_each(scripts).items()}
    for host, what, wanted, said, holds in facts.programs(platform, found):
        if holds:
            yield Finding(what, host, said)
        else:
            yield Finding(what, host, f"{said}, wanted: {wanted}", "bad", "install it there")
    for host, answer in fleet.run(there, 'echo "${LANGUAGE:-${LC_MESSAGES:-${LANG:-C}}}"').items():
        yield Finding("language", host, f"{answer.output.strip()}; clusterbench sets English for its programs")


def _telemetry(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:  # noqa: ARG001  as all
    """Two samples are taken, fetched and read, as of a trial."""
    name = "telemetry/doctor"
    telemetry.clean_up(fleet, name)
    try:
        telemetry.start(fleet, name)
        time.sleep(3 * telemetry.SETTLE_S)
        failed = telemetry.stop(fleet, name)
        with tempfile.TemporaryDirectory() as folder:
            missing = telemetry.collect(fleet, name, Path(folder), failed)
            for line in missing:
                yield Finding("telemetry", "hosts", line, "bad", "bash must be able to write there")
            for host in there:
                if (Path(folder) / host / telemetry.RAW_FILE).exists():
                    yield _samples(host, telemetry.last_samples(Path(folder) / host, SAMPLES_MIN))
    finally:
        telemetry.clean_up(fleet, name)


def _samples(host: str, seen: Sequence[object]) -> Finding:
    if len(seen) < SAMPLES_MIN:
        return Finding(
            "telemetry", host, f"{len(seen)} samples in 2 s", "bad", "look at telemetry.sample in the work folder there"
        )
    return Finding("telemetry", host, "works: samples were taken and read")


def _clocks(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """Against the client's, which is the clock of all that is measured."""
    clocks = fleet.clocks(there)
    base = clocks[platform.client].offset_s if platform.client in clocks else 0.0
    for host, clock in clocks.items():
        off, unsure = abs(clock.offset_s - base), clock.uncertainty_s
        text = f"{clock.offset_s - base:+.3f} s from the client's, known to {unsure:.3f} s"
        if off - unsure > CLOCK_BAD_S:
            yield Finding(
                "clock",
                host,
                text,
                "bad",
                "synchronise it, for example with chrony; otherwise telemetry belongs to other seconds",
            )
        elif off - unsure > CLOCK_LOOK_S:
            yield Finding("clock", host, text, "look", "synchronise it, for example with chrony")
        else:
            yield Finding("clock", host, "within 0.1 s of the client's")


def _rights(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """What 'may' allows and root is needed for, asked of sudo without doing it."""
    commands = root_commands(platform)
    if not commands:
        yield Finding("root", "hosts", "not needed: nothing in 'may' needs root")
        return
    wanted = [each for each in commands if "[" not in each]  # a pattern stands for many names
    asked = "\n".join(f"sudo -n -l {each} >/dev/null 2>&1 || echo {quote(each)}" for each in wanted)
    hosts = [host for host in platform.engine_hosts if host in there]
    for host, answer in fleet.run(hosts, f'[ "$(id -u)" = 0 ] && exit 0\n{asked}').items():
        refused = answer.output.splitlines()
        if refused:
            remedy = f"put what 'clusterbench sudoers {platform.platform}' prints into /etc/sudoers.d there"
            yield Finding("root", host, f"not allowed: {refused[0]}" + (" …" if refused[1:] else ""), "bad", remedy)
        else:
            yield Finding("root", host, f"allowed for all {len(wanted)} commands that need it")


def _tools(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """Programs that only some platforms ask for: of the speed of hosts, and of profiles."""
    wanted: dict[str, str] = {}
    if platform.host_speed:
        wanted |= dict.fromkeys(("sysbench", "iperf3"), "'host_speed'")
        wanted |= {"fio": "'host_speed' with disk_mib"} if platform.host_speed.disk_mib else {}
    if "profile" in platform.may:
        wanted |= {"perf": "'may: profile' (Debian's package linux-perf)"}
    if not wanted:
        return
    asked = "PATH=$PATH:/usr/sbin:/sbin\n" + "\n".join(
        f"command -v {name} >/dev/null || echo {name}" for name in wanted
    )
    for host, answer in fleet.run([host for host in platform.engine_hosts if host in there], asked).items():
        absent = answer.output.split()
        for name in absent:
            yield Finding("tools", host, f"{name} is not installed", "bad", f"install it: {wanted[name]} needs it")
        if not absent:
            yield Finding("tools", host, f"{', '.join(wanted)}: all installed")


def _addresses(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """That of the login and that of data; private networks of several interfaces are no proof, so they are reported."""
    if platform.data_network:
        for host, at in data_addresses(fleet, platform, there).items():
            text = f"{at.address} on {at.interface}, {at.speed_mbit_per_s} Mbit/s, MTU {at.mtu}"
            yield Finding("data address", host, text)
        return
    answers = fleet.run(there, script("hosts/addresses"))
    for host, answer in answers.items():
        rows = [line.split() for line in answer.output.splitlines()]
        others = {row[0] for row in rows if not _is_of_host_alone(row[1]) and row[1] != fleet.addresses[host].host}
        here = {row[0] for row in rows if row[1] == fleet.addresses[host].host}
        if others - here and here:
            found = f"{fleet.addresses[host].host} of the login; the host also has {', '.join(sorted(others - here))}"
            remedy = "if data goes through another network, name it in 'data_network' of the platform's file"
            yield Finding("data address", host, found, "look", remedy)
        else:
            yield Finding("data address", host, "that of the login")


def _is_of_host_alone(address: str) -> bool:
    parsed = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    return parsed.is_loopback or parsed.is_link_local


def _speed(fleet: Fleet, platform: Platform, there: list[str]) -> Iterator[Finding]:
    """From the client, by its data address, for a second to each of some hosts."""
    others = [host for host in there if host != platform.client][:PAIRS_MAX]
    if platform.client not in there or not others:
        return
    data = data_addresses(fleet, platform, others)
    for host in others:
        listening = fleet.run_on(host, script("hosts/speed_listen", address=data[host].address)).output.split()
        if not listening:
            yield Finding("speed from the client", host, "not measured: perl is not installed", "look", "install perl")
            continue
        send = script("hosts/speed_send", address=data[host].address, port=listening[0])
        said = fleet.run_on(platform.client, send, check=False)
        if said.exit_status:
            why = f"no connection to {data[host].address}:{listening[0]}: {said.error.strip()[-100:]}"
            yield Finding("speed from the client", host, why, "bad", "allow connections from the client's network")
        else:
            yield Finding("speed from the client", host, f"{float(said.output):,.0f} Mbit/s to {data[host].address}")
