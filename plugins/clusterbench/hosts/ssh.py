"""One host over SSH: its address, a connection to it, one script on it. What goes wrong is a HostError naming it."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import asyncssh

from clusterbench.base.connections import Connection
from clusterbench.base.errors import HostError

CONNECT_TIMEOUT_S = 10
KEEPALIVE_S = 15
"""Three of them without an answer, and a connection counts as broken."""
END_S = 5
"""A script that does not end is ended on its host this much later than it is given up here."""
CHUNK_BYTES = 65536

logging.getLogger("asyncssh").setLevel(logging.WARNING)  # it tells ten lines of every connection, of many hosts


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


class Gate:
    """How many hosts may be logged in to at once.

    Only one that has greeted comes to its handshake, which costs processor time: dead ones, which cost none, keep
    nobody waiting until there are more of them than ``dials``. These are bounded too, because an sshd that has greeted
    does not wait long for the rest (LoginGraceTime).
    """

    def __init__(self, *, dials: int, handshakes: int) -> None:
        self.dials, self.handshakes = asyncio.Semaphore(dials), asyncio.Semaphore(handshakes)


async def connect(address: Address, gate: Gate) -> asyncssh.SSHClientConnection:
    """Log in. Raises HostError with what stopped it and what to do."""
    try:
        host_key = asyncssh.import_public_key(address.host_key)
        async with gate.dials:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                greeted = await _dial(address)
            async with gate.handshakes:
                return await asyncssh.connect(
                    sock=greeted,
                    username=address.login,
                    client_keys=[address.key_file],
                    known_hosts=([host_key], [], []),
                    connect_timeout=CONNECT_TIMEOUT_S,
                    keepalive_interval=KEEPALIVE_S,
                    config=None,
                )
    except (OSError, asyncssh.Error, asyncssh.KeyImportError) as error:
        raise HostError(_why_not_connected(address, error)) from None


async def _dial(address: Address) -> socket.socket:
    """A connection on which an sshd has greeted, of which nothing has been read yet."""
    loop = asyncio.get_running_loop()
    places = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    for number, (family, kind, protocol, _, place) in enumerate(places, 1):
        dialled = socket.socket(family, kind, protocol)
        dialled.setblocking(False)
        try:
            await loop.sock_connect(dialled, place)
            await _readable(dialled)
        except BaseException as error:
            dialled.close()
            if number == len(places) or not isinstance(error, OSError) or isinstance(error, TimeoutError):
                raise
        else:
            return dialled
    raise OSError(errno.EADDRNOTAVAIL, "no address has that name")


async def _readable(dialled: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(dialled, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(dialled)


async def run(
    connection: asyncssh.SSHClientConnection, address: Address, script: str, timeout_s: float, bytes_max: int
) -> Answer:
    """A bash script, by standard input. It ends with its time also on the host, whatever becomes of the connection."""
    command = f"exec timeout --kill-after={END_S} {timeout_s + END_S:g} bash -euo pipefail -s"
    with naming(address, script, timeout_s):
        async with asyncio.timeout(timeout_s):
            status, output, error = await talk(connection, command, script.encode(), bytes_max)
    return Answer(address.name, status, output.decode(errors="replace"), error.decode(errors="replace"))


@contextmanager
def naming(address: Address, script: str, timeout_s: float) -> Iterator[None]:
    """What goes wrong in the middle, as a HostError."""
    try:
        yield
    except TimeoutError:
        raise HostError(
            f"host {address}: no answer within {timeout_s:g} s to: {shortened(script)}; is the host overloaded?"
        ) from None
    except OverflowError as error:
        raise HostError(
            f"host {address}: {error} came in answer to: {shortened(script)}; have it write to a file instead"
        ) from None
    except (OSError, asyncssh.Error) as error:
        raise HostError(f"host {address}: the connection broke during: {shortened(script)} ({error})") from None


async def talk(
    connection: asyncssh.SSHClientConnection, command: str, said: bytes, bytes_max: int
) -> tuple[int, bytes, bytes]:
    """Exit status, output and errors of a command. Raises OverflowError, with no more than that in memory."""
    process = await connection.create_process(command, encoding=None)
    try:
        process.stdin.write(said)
        process.stdin.write_eof()
        output, error = await asyncio.gather(_read(process.stdout, bytes_max), _read(process.stderr, bytes_max))
        await process.wait_closed()
    finally:
        process.close()
    if process.exit_status is None:  # not even by a signal
        raise ConnectionError("it was closed before the end")
    return process.exit_status if process.exit_status >= 0 else 255, output, error


async def _read(stream: asyncssh.SSHReader[bytes], bytes_max: int) -> bytes:
    found = bytearray()
    while chunk := await stream.read(CHUNK_BYTES):
        found += chunk
        if len(found) > bytes_max:
            raise OverflowError(f"more than {bytes_max / 2**20:g} MiB")
    return bytes(found)


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


def shortened(script: str) -> str:
    """A script as a message has it: one line, without comments, and no more than its beginning."""
    first = " ".join(" ".join(line for line in script.splitlines() if not line.lstrip().startswith("#")).split())
    return first if len(first) <= 160 else first[:157] + "…"
