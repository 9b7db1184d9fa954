"""Many hosts over SSH at once: scripts, files, errors that name the host.

Scripts travel on standard input, so nothing of them, and no secret in them, shows in a process list. One event
loop in a thread of its own serves all hosts; callers stay plain and synchronous.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import resource
import shutil
import tarfile
import threading
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Any, TypeVar

import asyncssh

from clusterbench.base.connections import Connections
from clusterbench.base.errors import HostAwayError, HostError, HostFullError
from clusterbench.hosts import ssh
from clusterbench.hosts.address import Address
from clusterbench.hosts.ssh import Answer
from clusterbench.spec.platform import Platform

DIALS_AT_ONCE = 192
HANDSHAKES_AT_ONCE = 32
"""Logins at once. A login costs processor time on both sides, so more of them only make each one slower. What runs on a
host afterwards costs nothing here, so it runs on all hosts at the same time."""
TRANSFERS_AT_ONCE = 64
"""Transfers of files at once: the bytes of each are in memory here on their way."""
OUTPUT_BYTES_MAX = 256 * 2**20
"""What the answers of one call may take in memory. Its hosts share that evenly."""
OUTPUT_BYTES_LEAST = 2**20
"""Each host may answer this much, however many hosts there are."""
OPEN_FILES_BESIDE = 256
"""Files that this process may have open besides one connection for each host."""
TRANSFER_TIMEOUT_S = 600
LEAST_FREE_BYTES = 2**20
"""Where less is left, a transfer to this machine that failed did so for want of space."""
CLOSE_S = 5
SIGNALLED = 128
ITS_NAME = re.compile(r"host (?P<name>\S+) \([^)]*\): ")
"""What an error begins with."""
SHOWN_ALIKE = 3
"""A shell's exit status is this and a signal's number, of a process that a signal has ended."""
FREE_SPACE = "free some space in the work folder there"
UNREACHABLE_S = 300
"""So long a host that could not be reached is not tried again, unless somebody waits for it: it may have restarted."""

DROP_PAGE_CACHE = """\
sync; echo 3 | if [ -w /proc/sys/vm/drop_caches ]; then tee /proc/sys/vm/drop_caches
else sudo -n tee /proc/sys/vm/drop_caches; fi >/dev/null
"""
"""Bash that empties a host's page cache; it needs root, or a line in sudoers."""

WHERE_HOME_IS = 'echo "$HOME"; uname -n'
CLOCKS_AT_ONCE = 8
ROUND_TRIPS = 8
"""The shortest of these round trips tells how far off a clock is. The longer ones were held up somewhere."""
TELL_THE_TIME = r"""
export LC_ALL=C
while read -r _; do if [ -n "${EPOCHREALTIME-}" ]; then echo "$EPOCHREALTIME"; else date +%s.%N; fi; done
"""

T = TypeVar("T")


@dataclass(frozen=True)
class Clock:
    """A host's clock less this machine's, and how far off that may be: half of the shortest round trip."""

    offset_s: float
    uncertainty_s: float


class Fleet:
    """The hosts of one platform. A context manager: connections are opened when first needed, or all at once by
    ``dial``, and closed at its end."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self.addresses = {address.name: address for address in addresses}
        self._connections: dict[str, asyncssh.SSHClientConnection] = {}
        self._bastions: dict[Address, asyncssh.SSHClientConnection] = {}
        self._forwards: dict[tuple[str, str, int], tuple[asyncssh.SSHClientConnection, int]] = {}
        self._work_dirs: dict[str, str] = {}
        self.kept: dict[str, Any] = {}
        """What others have asked the hosts and need not ask again while the fleet is open."""
        self._turns: dict[tuple[str, str], threading.Lock] = {}
        self._unreachable: dict[str, tuple[float, HostError]] = {}
        self._opening: defaultdict[str | Address, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._gate = ssh.Gate(dials=DIALS_AT_ONCE, handshakes=HANDSHAKES_AT_ONCE)
        self._transfers = asyncio.Semaphore(TRANSFERS_AT_ONCE)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)
        self._dialling: asyncio.Future[Any] | None = None

    @classmethod
    def of(cls, platform: Platform, connections: Connections) -> Fleet:
        return cls(Address.of(name, connections(host.ssh), connections) for name, host in platform.every_host.items())

    def __enter__(self) -> Fleet:
        _make_room(len(self.addresses))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait(self._end_dialling())
        self._wait(self._close(self._connections.values()))
        self._wait(self._close(self._bastions.values()))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def dial(self) -> None:
        """Log in to all hosts at once, beside whatever the caller does next: for one that needs all of them, one after
        the other. Who needs a host then waits for its login, and hears there of one that cannot be reached."""
        self._wait(self._begin_dialling())

    @property
    def names(self) -> list[str]:
        return list(self.addresses)

    def work_dir(self, host: str) -> str:
        return self.work_dirs([host])[host]

    def work_dirs(self, hosts: Iterable[str]) -> dict[str, str]:
        """Host -> its work folder, absolute.

        A connection may name one. Where it does not, or names it from the login's home, the folder is the host's own
        below that: many clusters have one home for all hosts. Of a host that does not answer it is what the connection
        says; whoever uses it hears of that host.
        """
        wanted = list(hosts)
        relative = [host for host in wanted if not self.addresses[host].work_dir.startswith("/")]
        if unknown := [host for host in relative if host not in self._work_dirs]:
            answers, _ = self.try_each(dict.fromkeys(unknown, WHERE_HOME_IS))
            for host, answer in answers.items():
                if not answer.exit_status:
                    home, node = answer.output.splitlines()[-2:]
                    self._work_dirs[host] = f"{home}/{self.addresses[host].work_dir}/{node}"
        return {host: self._work_dirs.get(host, self.addresses[host].work_dir) for host in wanted}

    @contextmanager
    def alone(self, host: str, thing: str) -> Iterator[None]:
        """One caller after the other, of a thing on a host that engines share, such as the files of a dataset."""
        with self._turns.setdefault((host, thing), threading.Lock()):
            yield

    def forwarded(self, host: str, to_host: str, to_port: int) -> int:
        """A port of this machine's loopback that leads to a place as ``host`` reaches it, while the fleet is open."""
        return self._wait(self._forward(host, to_host, to_port))

    def run(self, hosts: Iterable[str], script: str, *, timeout_s: float = 60, check: bool = True) -> dict[str, Answer]:
        """Run a bash script on all ``hosts`` at once. Raises HostError naming every host on which it failed."""
        return self.run_each(dict.fromkeys(hosts, script), timeout_s=timeout_s, check=check)

    def run_each(self, scripts: Mapping[str, str], *, timeout_s: float = 60, check: bool = True) -> dict[str, Answer]:
        """As ``run``, with a script for each host."""
        good, failures = self.ask_each(scripts, timeout_s=timeout_s, check=check)
        raise_all(failures.values())
        return good

    def try_each(
        self, scripts: Mapping[str, str], *, timeout_s: float = 60
    ) -> tuple[dict[str, Answer], dict[str, str]]:
        """As ``run_each``, but one host's failure does not cost the answers of the others, and nothing is raised.

        Returns the answers by host, whatever their exit status, and by host why there is no answer.
        """
        answers, failures = self.ask_each(scripts, timeout_s=timeout_s, check=False)
        return answers, {host: str(failure) for host, failure in failures.items()}

    def ask_each(
        self, scripts: Mapping[str, str], *, timeout_s: float = 60, check: bool = True
    ) -> tuple[dict[str, Answer], dict[str, HostError]]:
        """As ``try_each``, with the errors themselves; one is also that of a script that failed, unless not checked."""
        found = self._wait(self._run_all(scripts, timeout_s))
        failures = {host: answer for host, answer in found.items() if isinstance(answer, HostError)}
        answers = {host: answer for host, answer in found.items() if isinstance(answer, Answer)}
        for host, answer in answers.items() if check else ():
            if answer.exit_status != 0:
                failures[host] = _failed(self.addresses[host], answer, scripts[host])
        return {host: answer for host, answer in answers.items() if host not in failures}, failures

    def run_on(self, host: str, script: str, *, timeout_s: float = 60, check: bool = True) -> Answer:
        return self.run([host], script, timeout_s=timeout_s, check=check)[host]

    def clocks(self, hosts: Iterable[str], *, timeout_s: float = 60) -> dict[str, Clock]:
        """How far off every host's clock is, by round trips of its own. Raises HostError naming every failure."""
        clocks = self._wait(self._ask_clocks(list(hosts), timeout_s))
        raise_all([clock for clock in clocks.values() if isinstance(clock, HostError)])
        return {host: clock for host, clock in clocks.items() if isinstance(clock, Clock)}

    def put(self, host: str, directory: str, files: Mapping[str, str | bytes]) -> None:
        """Write files into ``directory``, readable by their owner only, through one stream of tar."""
        self.put_each({host: (directory, files)})

    def put_each(self, places: Mapping[str, tuple[str, Mapping[str, str | bytes]]]) -> None:
        """As ``put``, to many hosts at once: host -> (directory there, files). Raises HostError naming every host."""
        raise_all(self._wait(self._put_all(places)))

    def fetch(
        self, host: str, directory: str, names: Iterable[str], into: Path, *, timeout_s: float = TRANSFER_TIMEOUT_S
    ) -> None:
        """Copy those of the files ``names`` (shell patterns) that exist in ``directory`` to the local folder ``into``.

        Compressed on the way and streamed to disk: a driver's log may be larger than memory.
        """
        raise_all(self._fetch_each({host: (directory, into)}, names, timeout_s).values())

    def fetch_each(
        self, places: Mapping[str, tuple[str, Path]], names: Iterable[str], *, timeout_s: float = TRANSFER_TIMEOUT_S
    ) -> dict[str, str]:
        """As ``fetch``, from many hosts at once: host -> (directory there, folder here). Returns failures by host."""
        failures = self._fetch_each(places, names, timeout_s)
        return {host: str(failure) for host, failure in failures.items()}

    def _fetch_each(
        self, places: Mapping[str, tuple[str, Path]], names: Iterable[str], timeout_s: float
    ) -> dict[str, HostError]:
        patterns = " ".join(name if _is_plain_pattern(name) else quote(name) for name in names)
        return self._wait(self._fetch_all(places, patterns, timeout_s))

    def reconnect(self, hosts: Iterable[str]) -> None:
        """Close these connections; the next use logs in again. A changed resource limit holds only for new logins."""
        self._wait(self._close([self._connections.pop(host) for host in set(hosts) if host in self._connections]))

    def forget_unreachable(self) -> None:
        """Try hosts again that could not be reached before. For a caller that waits for a host to come back."""
        self._unreachable.clear()

    # The asynchronous side, all on the fleet's own loop.

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _begin_dialling(self) -> None:
        self._dialling = asyncio.gather(*map(self._connect, self.addresses), return_exceptions=True)

    async def _end_dialling(self) -> None:
        if self._dialling:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)

    async def _run_all(self, scripts: Mapping[str, str], timeout_s: float) -> dict[str, Answer | HostError]:
        bytes_max = max(OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MAX // max(1, len(scripts)))

        async def one(host: str, script: str) -> Answer | HostError:
            try:
                return await ssh.run(await self._connect(host), self.addresses[host], script, timeout_s, bytes_max)
            except HostError as error:
                return error

        answers = await asyncio.gather(*(one(host, script) for host, script in scripts.items()))
        return dict(zip(scripts, answers, strict=True))

    async def _ask_clocks(self, hosts: list[str], timeout_s: float) -> dict[str, Clock | HostError]:
        at_once = asyncio.Semaphore(CLOCKS_AT_ONCE)

        async def one(host: str) -> Clock | HostError:
            async with at_once:
                try:
                    return await asyncio.wait_for(self._ask_clock(await self._connect(host)), timeout_s)
                except HostError as error:
                    return error
                except (OSError, asyncssh.Error, TimeoutError, ValueError) as error:
                    return HostAwayError(
                        f"host {self.addresses[host]}: its time could not be read: {error or 'no answer'}"
                    )

        return dict(zip(hosts, await asyncio.gather(*map(one, hosts)), strict=True))

    @staticmethod
    async def _ask_clock(connection: asyncssh.SSHClientConnection) -> Clock:
        """As NTP does, over one open channel: the host answered somewhere between question and answer."""
        clocks = []
        async with connection.create_process(f"exec bash -c {quote(TELL_THE_TIME)}") as process:
            for _ in range(ROUND_TRIPS):
                before = time.time()
                process.stdin.write("\n")
                told = float(await process.stdout.readline())
                after = time.time()
                clocks.append(Clock(told - (before + after) / 2, (after - before) / 2))
            process.stdin.write_eof()
        return min(clocks, key=lambda clock: clock.uncertainty_s)

    async def _put_all(self, places: Mapping[str, tuple[str, Mapping[str, str | bytes]]]) -> list[HostError]:
        async def one(host: str, directory: str, files: Mapping[str, str | bytes]) -> HostError | None:
            command = f"umask 077; mkdir -p {quote(directory)} && exec tar -x -f - -C {quote(directory)}"
            try:
                connection = await self._connect(host)
                async with self._transfers:
                    await self._pipe_in(connection, self.addresses[host], command, _packed(files))
            except HostError as error:
                return error
            return None

        failures = await asyncio.gather(*(one(host, *place) for host, place in places.items()))
        return [failure for failure in failures if failure]

    async def _pipe_in(
        self, connection: asyncssh.SSHClientConnection, address: Address, command: str, content: bytes
    ) -> None:
        with ssh.naming(address, command, TRANSFER_TIMEOUT_S):
            async with asyncio.timeout(TRANSFER_TIMEOUT_S):
                status, _, said = await ssh.talk(connection, command, content, OUTPUT_BYTES_LEAST)
        if status != 0:
            raise _error(f"host {address}: files could not be written: {said.decode(errors='replace').strip()}")

    async def _pipe_out(
        self, connection: asyncssh.SSHClientConnection, address: Address, command: str, into: Path, timeout_s: float
    ) -> None:
        with ssh.naming(address, command, timeout_s):
            async with asyncio.timeout(timeout_s):
                async with connection.create_process(command, stdout=str(into), encoding=None) as process:
                    done = await process.wait()
        if done.exit_status != 0:
            if shutil.disk_usage(into.parent).free < LEAST_FREE_BYTES:
                raise HostAwayError(
                    f"the disk of this worker ({os.uname().nodename}) is full: {into.parent}; free some space there. "
                    "What was measured stays on its host"
                )
            words = bytes(done.stderr or b"").decode(errors="replace").strip() or "nothing"  # type: ignore[arg-type]
            said = f"host {address}: files could not be read: {ssh.shortened(command)}\n  it said: {words}"
            ended_by_signal = done.exit_status is None or not 0 <= done.exit_status <= SIGNALLED
            if ended_by_signal or "signal 9" in words or "status 137" in words:  # tar says so of its gzip
                raise HostAwayError(f"{said}\n  it was killed on the host, which may have restarted")
            raise HostError(said)

    async def _fetch_all(
        self, places: Mapping[str, tuple[str, Path]], patterns: str, timeout_s: float
    ) -> dict[str, HostError]:
        async def one(host: str, directory: str, into: Path) -> HostError | None:
            into.mkdir(parents=True, exist_ok=True)
            listed = f"""for f in {patterns}; do if [ -f "$f" ]; then printf '%s\\0' "$f"; fi; done"""
            command = f"cd {quote(directory)} && shopt -s nullglob && {listed} | tar -c -z -f - --null -T -"
            packed = into / ".fetched.tar.gz"
            try:
                connection = await self._connect(host)
                async with self._transfers:
                    await self._pipe_out(
                        connection, self.addresses[host], f"env LC_ALL=C bash -c {quote(command)}", packed, timeout_s
                    )
                await asyncio.to_thread(_unpack, packed, into)
            except HostError as error:
                return error
            finally:
                packed.unlink(missing_ok=True)
            return None

        failures = await asyncio.gather(*(one(host, *place) for host, place in places.items()))
        return {host: failure for host, failure in zip(places, failures, strict=True) if failure}

    async def _connect(self, host: str) -> asyncssh.SSHClientConnection:
        async with self._opening[host]:
            if host in self._connections and not self._connections[host].is_closed():
                return self._connections[host]
            when, why = self._unreachable.get(host, (-UNREACHABLE_S, HostError()))
            if time.monotonic() - when < UNREACHABLE_S:
                raise why  # a dead host is waited for once, not at every step
            try:
                through = await self._bastion(self.addresses[host])
                self._connections[host] = await ssh.connect(self.addresses[host], self._gate, through)
            except HostError as error:
                self._unreachable[host] = time.monotonic(), error
                raise
            return self._connections[host]

    async def _bastion(self, address: Address) -> asyncssh.SSHClientConnection | None:
        """The connection through which that host is reached; all hosts behind one bastion share it."""
        bastion = address.jump
        if bastion is None:
            return None
        async with self._opening[bastion]:
            if bastion not in self._bastions or self._bastions[bastion].is_closed():
                try:
                    through = await self._bastion(bastion)
                    self._bastions[bastion] = await ssh.connect(bastion, self._gate, through)
                except HostError as error:
                    raise type(error)(f"host {address}: its bastion, {error}") from None
            return self._bastions[bastion]

    async def _forward(self, host: str, to_host: str, to_port: int) -> int:
        connection = await self._connect(host)
        async with self._opening[f"{host} {to_host} {to_port}"]:
            through, port = self._forwards.get((host, to_host, to_port), (None, 0))
            if through is not connection:
                try:
                    _, tried = await connection.open_connection(to_host, to_port)  # a listener says nothing of this
                    tried.close()
                    listener = await connection.forward_local_port("127.0.0.1", 0, to_host, to_port)
                except (OSError, asyncssh.Error) as error:
                    raise HostAwayError(
                        f"host {self.addresses[host]}: could not reach {to_host}:{to_port} for us: {error}"
                    ) from None
                port = listener.get_port()
                self._forwards[host, to_host, to_port] = connection, port
            return port

    async def _close(self, connections: Iterable[asyncssh.SSHClientConnection]) -> None:
        """Close them and wait for a moment; those that do not answer are cut off."""
        closing = list(connections)
        if not closing:
            return
        for connection in closing:
            connection.close()
        ends = [asyncio.ensure_future(connection.wait_closed()) for connection in closing]
        _, late = await asyncio.wait(ends, timeout=CLOSE_S)
        for connection in closing if late else ():
            connection.abort()
        await asyncio.gather(*ends, return_exceptions=True)


def _packed(files: Mapping[str, str | bytes]) -> bytes:
    """Name -> content as a tar; scripts may be run."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            content = text.encode() if isinstance(text, str) else text
            entry.size, entry.mode = len(content), 0o700 if name.endswith(".sh") else 0o600
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def _unpack(packed: Path, into: Path) -> None:
    with tarfile.open(packed) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content:  # under its last name only: what a host sends is never written elsewhere
                with (into / Path(member.name).name).open("wb") as file:
                    shutil.copyfileobj(content, file)


def _is_plain_pattern(name: str) -> bool:
    """A file name or pattern that a shell may expand: letters, digits, `.`, `_`, `-` and `*` only."""
    return bool(name) and all(letter.isalnum() or letter in "._-*" for letter in name) and not name.startswith("-")


def raise_all(failures: Iterable[HostError]) -> None:
    """Raises one error for all of them: away, where nothing else is wrong; full, where one of these is."""
    found = list(failures)
    if not found:
        return
    kind: type[HostError] = HostError
    if all(isinstance(each, HostAwayError) for each in found):
        kind = HostFullError if any(isinstance(each, HostFullError) for each in found) else HostAwayError
    raise kind("\n".join(_alike_once([str(each) for each in found])))


def _alike_once(failures: Sequence[str]) -> list[str]:
    """Of many hosts that failed alike the first ones as they are, the others by name."""
    alike: dict[str, list[str]] = defaultdict(list)
    for said in failures:
        alike[ITS_NAME.sub("", said, count=1)].append(said)
    lines: list[str] = []
    for group in alike.values():
        shown = len(group) if len(group) <= SHOWN_ALIKE + 1 else SHOWN_ALIKE
        lines += group[:shown]
        names = [match["name"] for said in group[shown:] if (match := ITS_NAME.match(said))]
        lines += [f"and {len(group) - shown} more hosts the same: {', '.join(names)}"] if group[shown:] else []
    return lines


def is_full(said: str) -> bool:
    """Whether a host's answer, in English, says that its disk is full."""
    return "No space left on device" in said or "Disk quota exceeded" in said


def _error(said: str) -> HostError:
    return HostFullError(f"{said}\n  its disk is full: {FREE_SPACE}") if is_full(said) else HostError(said)


def _failed(address: Address, answer: Answer, script: str) -> HostError:
    said = (answer.error or answer.output).strip()[-2000:] or "nothing"
    return _error(f"host {address}: exit status {answer.exit_status} of: {ssh.shortened(script)}\n  it said: {said}")


def _make_room(hosts: int) -> None:
    """Raise this process's limit of open files, because each connection is one.

    The soft limit is there for old programs and may be raised. The hard limit was set on purpose: raises HostError
    where it is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = hosts + OPEN_FILES_BESIDE
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise HostError(
            f"{hosts} hosts need as many connections, and this process may have {hard} files open, {needed} at least "
            f"are needed; raise that where the worker is started: ulimit -Hn {needed}, or LimitNOFILE={needed} in its "
            "systemd unit"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
