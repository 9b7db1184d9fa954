"""Many hosts over SSH at once: scripts, files, errors that name the host.

Scripts travel on standard input, so nothing of them, and no secret in them, shows in a process list. One event
loop in a thread of its own serves all hosts; callers stay plain and synchronous.
"""

from __future__ import annotations

import asyncio
import io
import shutil
import tarfile
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Any, TypeVar

import asyncssh

from clusterbench.connections import Connection, Connections
from clusterbench.errors import HostError
from clusterbench.spec.platform import Platform

CONNECT_TIMEOUT_S = 10
HOSTS_AT_ONCE = 64
"""Hand-shakes cost processor time on both sides; more at once only makes each of them slower."""

DROP_PAGE_CACHE = """\
sync; echo 3 | if [ -w /proc/sys/vm/drop_caches ]; then tee /proc/sys/vm/drop_caches
else sudo -n tee /proc/sys/vm/drop_caches; fi >/dev/null
"""
"""Bash that empties a host's page cache; it needs root, or a line in sudoers."""

CLOCKS_AT_ONCE = 8
ROUND_TRIPS = 8
"""Of which the shortest tells how far off a clock is: the longer ones have waited for somebody."""
TELL_THE_TIME = r"""
export LC_ALL=C
while read -r _; do if [ -n "${EPOCHREALTIME-}" ]; then echo "$EPOCHREALTIME"; else date +%s.%N; fi; done
"""

T = TypeVar("T")


@dataclass(frozen=True)
class Address:
    """Where a host is and how to know it: the pinned host key, and the key to log in with."""

    name: str
    host: str
    port: int
    login: str
    key_file: str = field(repr=False)
    host_key: str
    work_dir: str

    @classmethod
    def of(cls, name: str, connection: Connection) -> Address:
        if not connection.host:
            raise HostError(f"host {name!r}: connection {connection.id!r} has no host; add its address in Airflow")
        return cls(
            name=name,
            host=connection.host,
            port=connection.port or 22,
            login=connection.login,
            key_file=connection.need("key_file", "the private key to log in with"),
            host_key=connection.need("host_key", "the host's public key as ssh-keyscan prints it, to pin it"),
            work_dir=str(connection.extra.get("work_dir") or ".clusterbench"),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.login}@{self.host}:{self.port})"


@dataclass(frozen=True)
class Answer:
    """What a script said on one host."""

    host: str
    exit_status: int
    output: str
    error: str


@dataclass(frozen=True)
class Clock:
    """A host's clock less this machine's, and how far off that may be: half of the shortest round trip."""

    offset_s: float
    uncertainty_s: float


class Fleet:
    """The hosts of one platform. A context manager: connections are opened when first needed, and closed at its end."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self.addresses = {address.name: address for address in addresses}
        self._connections: dict[str, asyncssh.SSHClientConnection] = {}
        self._unreachable: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fleet", daemon=True)

    @classmethod
    def of(cls, platform: Platform, connections: Connections) -> Fleet:
        return cls(Address.of(name, connections(host.ssh)) for name, host in platform.hosts.items())

    def __enter__(self) -> Fleet:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wait(self._close(self._connections.values()))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    @property
    def names(self) -> list[str]:
        return list(self.addresses)

    def work_dir(self, host: str) -> str:
        return self.addresses[host].work_dir

    def run(self, hosts: Iterable[str], script: str, *, timeout_s: float = 60, check: bool = True) -> dict[str, Answer]:
        """Run a bash script on all ``hosts`` at once. Raises HostError naming every host on which it failed."""
        return self.run_each(dict.fromkeys(hosts, script), timeout_s=timeout_s, check=check)

    def run_each(self, scripts: Mapping[str, str], *, timeout_s: float = 60, check: bool = True) -> dict[str, Answer]:
        """As ``run``, with a script for each host."""
        answers = self._wait(self._run_all(scripts, timeout_s))
        failures = [answer for answer in answers.values() if isinstance(answer, HostError)]
        good = {name: answer for name, answer in answers.items() if isinstance(answer, Answer)}
        if check:
            failures += [
                _failed(self.addresses[a.host], a, scripts[a.host]) for a in good.values() if a.exit_status != 0
            ]
        if failures:
            raise HostError("\n".join(str(failure) for failure in failures))
        return good

    def run_on(self, host: str, script: str, *, timeout_s: float = 60, check: bool = True) -> Answer:
        return self.run([host], script, timeout_s=timeout_s, check=check)[host]

    def clocks(self, hosts: Iterable[str], *, timeout_s: float = 60) -> dict[str, Clock]:
        """How far off every host's clock is, by round trips of its own. Raises HostError naming every failure."""
        clocks = self._wait(self._ask_clocks(list(hosts), timeout_s))
        if failures := [clock for clock in clocks.values() if isinstance(clock, HostError)]:
            raise HostError("\n".join(map(str, failures)))
        return {host: clock for host, clock in clocks.items() if isinstance(clock, Clock)}

    def put(self, host: str, directory: str, files: Mapping[str, str]) -> None:
        """Write files into ``directory``, readable by their owner only, through one stream of tar."""
        self.put_each({host: (directory, files)})

    def put_each(self, places: Mapping[str, tuple[str, Mapping[str, str]]]) -> None:
        """As ``put``, to many hosts at once: host -> (directory there, files). Raises HostError naming every host."""
        if failures := self._wait(self._put_all(places)):
            raise HostError("\n".join(failures))

    def fetch(self, host: str, directory: str, names: Iterable[str], into: Path, *, timeout_s: float = 600) -> None:
        """Copy those of the files ``names`` (shell patterns) that exist in ``directory`` to the local folder ``into``.

        Compressed on the way and streamed to disk: a driver's log may be larger than memory.
        """
        if failures := self.fetch_each({host: (directory, into)}, names, timeout_s=timeout_s):
            raise HostError(failures[host])

    def fetch_each(
        self, places: Mapping[str, tuple[str, Path]], names: Iterable[str], *, timeout_s: float = 600
    ) -> dict[str, str]:
        """As ``fetch``, from many hosts at once: host -> (directory there, folder here). Returns failures by host."""
        patterns = " ".join(name if _is_plain_pattern(name) else quote(name) for name in names)
        return self._wait(self._fetch_all(places, patterns, timeout_s))

    def reconnect(self, hosts: Iterable[str]) -> None:
        """Log in anew when next needed: limits are those of a login."""
        self._wait(self._close([self._connections.pop(host) for host in set(hosts) if host in self._connections]))

    def forget_unreachable(self) -> None:
        """Try hosts again that could not be reached before; for whoever waits on purpose."""
        self._unreachable.clear()

    # The asynchronous side, all on the fleet's own loop.

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _run_all(self, scripts: Mapping[str, str], timeout_s: float) -> dict[str, Answer | HostError]:
        at_once = asyncio.Semaphore(HOSTS_AT_ONCE)

        async def one(host: str, script: str) -> Answer | HostError:
            async with at_once:
                try:
                    return await self._run_one(host, script, timeout_s)
                except HostError as error:
                    return error

        answers = await asyncio.gather(*(one(host, script) for host, script in scripts.items()))
        return dict(zip(scripts, answers, strict=True))

    async def _run_one(self, host: str, script: str, timeout_s: float) -> Answer:
        address = self.addresses[host]
        connection = await self._connect(host)
        try:
            done = await asyncio.wait_for(
                connection.run("exec bash -euo pipefail -s", input=script, check=False), timeout_s
            )
        except TimeoutError:
            raise HostError(
                f"host {address}: no answer within {timeout_s:g} s to: {_shorten(script)}; is the host overloaded?"
            ) from None
        except (OSError, asyncssh.Error) as error:
            self._connections.pop(host, None)
            raise HostError(f"host {address}: the connection broke during: {_shorten(script)} ({error})") from None
        status = done.exit_status if done.exit_status is not None else 255
        return Answer(host, status, str(done.stdout), str(done.stderr))

    async def _ask_clocks(self, hosts: list[str], timeout_s: float) -> dict[str, Clock | HostError]:
        at_once = asyncio.Semaphore(CLOCKS_AT_ONCE)

        async def one(host: str) -> Clock | HostError:
            async with at_once:
                try:
                    return await asyncio.wait_for(self._ask_clock(await self._connect(host)), timeout_s)
                except HostError as error:
                    return error
                except (OSError, asyncssh.Error, TimeoutError, ValueError) as error:
                    return HostError(f"host {self.addresses[host]}: did not tell the time: {error or 'no answer'}")

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

    async def _put_all(self, places: Mapping[str, tuple[str, Mapping[str, str]]]) -> list[str]:
        at_once = asyncio.Semaphore(HOSTS_AT_ONCE)

        async def one(host: str, directory: str, files: Mapping[str, str]) -> str | None:
            command = f"umask 077; mkdir -p {quote(directory)} && exec tar -x -f - -C {quote(directory)}"
            async with at_once:
                try:
                    await self._pipe_in(host, command, _packed(files))
                except HostError as error:
                    return str(error)
            return None

        failures = await asyncio.gather(*(one(host, *place) for host, place in places.items()))
        return [failure for failure in failures if failure]

    async def _pipe_in(self, host: str, command: str, content: bytes) -> None:
        connection = await self._connect(host)
        done = await connection.run(command, input=content, encoding=None, check=False)
        if done.exit_status != 0:
            said = done.stderr.decode(errors="replace").strip() if isinstance(done.stderr, bytes) else ""
            raise HostError(f"host {self.addresses[host]}: files could not be written: {said}")

    async def _pipe_out(self, host: str, command: str, into: Path, timeout_s: float) -> None:
        connection = await self._connect(host)
        try:
            done = await asyncio.wait_for(connection.run(command, stdout=str(into), encoding=None), timeout_s)
        except TimeoutError:
            raise HostError(f"host {self.addresses[host]}: files did not arrive within {timeout_s:g} s") from None
        if done.exit_status != 0:
            raise HostError(f"host {self.addresses[host]}: files could not be read: {_shorten(command)}")

    async def _fetch_all(
        self, places: Mapping[str, tuple[str, Path]], patterns: str, timeout_s: float
    ) -> dict[str, str]:
        at_once = asyncio.Semaphore(HOSTS_AT_ONCE)

        async def one(host: str, directory: str, into: Path) -> str | None:
            into.mkdir(parents=True, exist_ok=True)
            listed = f"""for f in {patterns}; do if [ -f "$f" ]; then printf '%s\\0' "$f"; fi; done"""
            command = f"cd {quote(directory)} && shopt -s nullglob && {listed} | tar -c -z -f - --null -T -"
            packed = into / ".fetched.tar.gz"
            try:
                async with at_once:
                    await self._pipe_out(host, f"bash -c {quote(command)}", packed, timeout_s)
                await asyncio.to_thread(_unpack, packed, into)
            except HostError as error:
                return str(error)
            finally:
                packed.unlink(missing_ok=True)
            return None

        failures = await asyncio.gather(*(one(host, *place) for host, place in places.items()))
        return {host: failure for host, failure in zip(places, failures, strict=True) if failure}

    async def _connect(self, host: str) -> asyncssh.SSHClientConnection:
        if host in self._connections and not self._connections[host].is_closed():
            return self._connections[host]
        if host in self._unreachable:
            raise HostError(self._unreachable[host])  # a dead host is waited for once, not at every step
        address = self.addresses[host]
        try:
            connection = await asyncssh.connect(
                address.host,
                address.port,
                username=address.login,
                client_keys=[address.key_file],
                known_hosts=([asyncssh.import_public_key(address.host_key)], [], []),
                connect_timeout=CONNECT_TIMEOUT_S,
                keepalive_interval=15,
                config=None,
            )
        except (OSError, asyncssh.Error, asyncssh.KeyImportError) as error:
            self._unreachable[host] = _why_not_connected(address, error)
            raise HostError(self._unreachable[host]) from None
        self._connections[host] = connection
        return connection

    async def _close(self, connections: Iterable[asyncssh.SSHClientConnection]) -> None:
        closing = list(connections)
        for connection in closing:
            connection.close()
        await asyncio.gather(*(connection.wait_closed() for connection in closing), return_exceptions=True)


def _packed(files: Mapping[str, str]) -> bytes:
    """Name -> text as a tar; scripts may be run."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            content = text.encode()
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


def _why_not_connected(address: Address, error: Exception) -> str:
    """What stopped a login, and the remedy."""
    if isinstance(error, asyncssh.HostKeyNotVerifiable):
        return (
            f"host {address}: its host key is not the pinned one; if the host was reinstalled on purpose, put the "
            "new key into 'host_key' of its connection in Airflow, otherwise somebody else answers at that address"
        )
    if isinstance(error, asyncssh.PermissionDenied):
        return (
            f"host {address}: the login was refused; is the public half of {address.key_file} in "
            f"authorized_keys of {address.login}?"
        )
    if isinstance(error, FileNotFoundError):
        return f"host {address}: the private key {address.key_file} does not exist; mend 'key_file' of the connection"
    if isinstance(error, asyncssh.KeyImportError):
        return f"host {address}: 'key_file' or 'host_key' of its connection is not a key: {error}"
    if isinstance(error, TimeoutError | asyncio.TimeoutError):
        return f"host {address}: no connection within {CONNECT_TIMEOUT_S} s; is it up, and is the address right?"
    return f"host {address}: cannot be reached: {error}; is sshd running there, and is the port right?"


def _failed(address: Address, answer: Answer, script: str) -> HostError:
    said = (answer.error or answer.output).strip()[-2000:] or "nothing"
    return HostError(f"host {address}: exit status {answer.exit_status} of: {_shorten(script)}\n  it said: {said}")


def _shorten(script: str) -> str:
    first = " ".join(script.split())
    return first if len(first) <= 160 else first[:157] + "…"
