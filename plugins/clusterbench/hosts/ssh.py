"""One host over SSH: a connection to it, one script on it. What goes wrong is a HostError that names it."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohappyeyeballs
import asyncssh

from clusterbench.base.errors import HostAwayError, HostError
from clusterbench.hosts.address import Address

KEEPALIVE_S = 15
"""Three of them without an answer, and a connection counts as broken."""
NEXT_ADDRESS_S = 0.25
"""A name may have several addresses, of which the first may be dead: so long it is tried alone (RFC 8305)."""
END_S = 5
"""A script that does not end is ended on its host this much later than it is given up here."""
CHUNK_BYTES = 65536

logging.getLogger("asyncssh").setLevel(logging.WARNING)  # it tells ten lines of every connection, of many hosts


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


async def connect(
    address: Address, gate: Gate, through: asyncssh.SSHClientConnection | None = None
) -> asyncssh.SSHClientConnection:
    """Log in, ``through`` the connection to its bastion where it has one.

    Raises HostError with what stopped it and what to do.

    A host behind another is dialled by that one, or by a program; so its dial and its handshake are one.
    """
    try:
        options = _options(address)
        if address.is_behind_another:
            async with gate.dials, asyncio.timeout(2 * address.connect_timeout_s):
                return await asyncssh.connect(
                    host=address.host, port=address.port, tunnel=through, proxy_command=_proxy(address), **options
                )
        async with gate.dials:  # until it is logged in: an sshd that has greeted does not wait long
            async with asyncio.timeout(address.connect_timeout_s):
                greeted = await _dial(address)
            try:
                async with gate.handshakes:
                    return await asyncssh.connect(sock=greeted, **options)
            except BaseException:
                greeted.close()  # nobody else does where the handshake had not begun, or was given up
                raise
    except (OSError, ValueError, asyncssh.Error, asyncssh.KeyImportError) as error:
        kind = HostAwayError if _is_away(error) else HostError
        raise kind(_why_not_connected(address, error)) from None


def _options(address: Address) -> dict[str, Any]:
    """What asyncssh is told of a host. Only what the connection names is used: no agent, and no configuration file."""
    passphrase = address.passphrase or address.password or None
    known_hosts: Any = address.known_hosts or None
    if address.host_key:
        known_hosts = ([asyncssh.import_public_key(address.host_key)], [], [])
    keys: Any = () if address.finds_keys else None  # asyncssh's words for "those in ~/.ssh" and "none"
    if address.private_key:
        keys = [asyncssh.import_private_key(address.private_key, passphrase)]
    elif address.key_file:
        keys = [address.key_file]
    return {
        "username": address.login,
        "client_keys": keys,
        "passphrase": passphrase,
        "password": address.password or None,
        "known_hosts": known_hosts,
        "agent_path": None,
        "connect_timeout": address.connect_timeout_s,
        "login_timeout": 2 * address.connect_timeout_s,
        "keepalive_interval": KEEPALIVE_S,
        "config": None,
        **({"encryption_algs": list(address.ciphers)} if address.ciphers else {}),
    }


def _proxy(address: Address) -> str | None:
    """The program that dials, with the place filled in, as ssh_config(5) has it."""
    if not address.proxy_command:
        return None
    known = {"%h": address.host, "%p": str(address.port), "%r": address.login, "%%": "%"}
    return re.sub("%[hpr%]", lambda found: known[found[0]], address.proxy_command)


async def _dial(address: Address) -> socket.socket:
    """A connection on which an sshd has greeted, of which nothing has been read yet."""
    loop = asyncio.get_running_loop()
    places = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    dialled = await aiohappyeyeballs.start_connection(places, happy_eyeballs_delay=NEXT_ADDRESS_S, interleave=1)
    try:
        await _readable(dialled)
    except BaseException:
        dialled.close()
        raise
    return dialled


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
    """A bash script, by standard input. It ends with its time also on the host, whatever becomes of the connection.

    What programs say is read, so they say it in English, whatever the host's language; the detached jobs, too, which
    inherit this.
    """
    command = f"exec timeout --kill-after={END_S} {timeout_s + END_S:g} env LC_ALL=C bash -euo pipefail -s"
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
        raise HostAwayError(f"host {address}: the connection broke during: {shortened(script)} ({error})") from None


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


AWAY = (OSError, asyncssh.ConnectionLost, asyncssh.ChannelOpenError)
NOT_AWAY = (FileNotFoundError, PermissionError)
"""Of a key's file, or of a program that dials."""


def _is_away(error: Exception) -> bool:
    """It may answer later; a mistake in its connection will not go away, nor will a changed key."""
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_AGAIN  # the name server is away; else there is no such name
    return isinstance(error, AWAY) and not isinstance(error, NOT_AWAY)


def _why_not_connected(address: Address, error: Exception) -> str:
    """What stopped a login, and the remedy."""
    through = address.jump.host if address.jump else "its bastion"
    remedies: dict[type[Exception], str] = {  # the first that fits
        asyncssh.HostKeyNotVerifiable: f"{_unknown_key(address)}, otherwise somebody else answers at that address",
        asyncssh.PermissionDenied: f"the login was refused; {_ask_about_keys(address)}",
        FileNotFoundError: f"{address.key_file or address.proxy_command} does not exist; correct 'key_file' or "
        "'host_proxy_cmd' of its connection",
        asyncssh.KeyEncryptionError: "its private key does not open with the passphrase in 'private_key_passphrase' "
        f"of its connection ({error}); correct the passphrase",
        asyncssh.KeyImportError: "'key_file', 'private_key' or 'host_key' of its connection is not a key that can be "
        f"read: {error} (an encrypted one needs 'private_key_passphrase')",
        asyncssh.ChannelOpenError: f"{through} could not reach it: {error}; may it forward there (AllowTcpForwarding, "
        "PermitOpen), and is the host up?",
        TimeoutError: f"no connection within {address.connect_timeout_s:g} s; is it up, and is the address right? "
        "(One that is only slow: 'conn_timeout' of its connection)",
    }
    for kind, remedy in remedies.items():
        if isinstance(error, kind):
            return f"host {address}: {remedy}"
    return f"host {address}: cannot be reached: {error}; is sshd running there, and is the port right?"


def _unknown_key(address: Address) -> str:
    if address.known_hosts:
        return (
            f"its host key is not in {address.known_hosts}; put the key into 'host_key' of its connection in Airflow, "
            "when you have compared it"
        )
    return (
        "its host key is not the pinned one; if the host was reinstalled on purpose, put the new key into 'host_key' "
        "of its connection in Airflow"
    )


def _ask_about_keys(address: Address) -> str:
    if not (address.key_file or address.private_key or address.finds_keys):
        return f"is the password of {address.login} right, and does its sshd allow passwords?"
    key = address.key_file or ("its private_key" if address.private_key else "a key in ~/.ssh")
    return f"is the public half of {key} in authorized_keys of {address.login}?"


def shortened(script: str) -> str:
    """A script as a message has it: one line, without comments, and no more than its beginning."""
    first = " ".join(" ".join(line for line in script.splitlines() if not line.lstrip().startswith("#")).split())
    return first if len(first) <= 160 else first[:157] + "…"
