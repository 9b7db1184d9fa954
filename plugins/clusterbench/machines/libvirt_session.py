"""The libvirt of each hypervisor's host, and its errors in words.

There is no server above the hosts, as vCenter is: each is asked by itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import libvirt

from clusterbench.base.connections import Connection
from clusterbench.base.errors import MachineAwayError, MachineError
from clusterbench.base.in_parallel import in_parallel

T = TypeVar("T")
URIS = "uris"
KEEPALIVE_S, KEEPALIVES = 5, 12
"""A host that answers none of so many for a minute is away; a call to it would else wait for TCP's own time limit."""
UNCHECKED = (("no_verify", ("1",)), ("known_hosts_verify", ("auto", "ignore")))
"""Parameters of a URI with which a host is not checked to be the one that it is taken for."""
REFUSED_LOGIN = (libvirt.VIR_ERR_AUTH_FAILED, libvirt.VIR_ERR_AUTH_CANCELLED)
REFUSED_RIGHT = (libvirt.VIR_ERR_OPERATION_DENIED, libvirt.VIR_ERR_ACCESS_DENIED)
AWAY_FROM = (libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE)
REFUSED_BY_SSH = (
    "permission denied",
    "host key verification failed",
    "authentication failed",
    "authentication failure",
)


@dataclass(frozen=True)
class Host:
    """One hypervisor's host, connected to."""

    name: str
    """In ``uris``, and in ``machines.hosts`` of a platform's file."""
    uri: str
    conn: Any
    _told: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _telling: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def __str__(self) -> str:
        return f"libvirt host {self.name} ({self.uri})"

    def capabilities(self) -> str:
        """Asked for once: some hosts look at every emulator again, for seconds, and meanwhile answer nobody else."""
        with self._telling:
            if not self._told:
                self._told["capabilities"] = str(self.conn.getCapabilities())
            return self._told["capabilities"]


class Session:
    """Connected to all hosts of an Airflow connection, whose extra has ``uris``: host -> URI of its libvirt.

    Login and password of the connection are given where a libvirt asks for them (SASL).
    """

    def __init__(self, connection: Connection) -> None:
        self.connection, self.uris = connection, uris_of(connection)
        self.hosts: dict[str, Host] = {}

    def __str__(self) -> str:
        return f"libvirt {self.connection.id}"

    def open(self) -> None:
        _prepare_process()
        try:
            in_parallel(self._open, list(self.uris))
        except BaseException:
            self.close()
            raise

    def _open(self, name: str) -> None:
        host = Host(name, self.uris[name], None)
        with naming(host, "log in", self.connection.login):
            conn = opened(host.uri, self.connection)
        with suppress(libvirt.libvirtError):  # what is on this machine needs none
            conn.setKeepAlive(KEEPALIVE_S, KEEPALIVES)
        self.hosts[name] = Host(name, host.uri, conn)

    def close(self) -> None:
        for host in self.hosts.values():
            with suppress(libvirt.libvirtError):  # what was done is done
                host.conn.close()

    def of_each(self, ask: Callable[[Host], T], names: Collection[str] | None = None) -> dict[str, T]:
        """Host -> what was found there; of all hosts at once, or of those that are named and known."""
        asked = [self.hosts[name] for name in self.uris if names is None or name in names]
        return dict(zip([host.name for host in asked], in_parallel(ask, asked), strict=True))


def opened(uri: str, connection: Connection) -> Any:
    """A connection to one libvirt."""

    def answer(questions: list[list[Any]], _: Any) -> int:
        for question in questions:
            question[4] = connection.login if question[0] == libvirt.VIR_CRED_AUTHNAME else connection.password
        return 0 if all(question[4] for question in questions) else -1

    return libvirt.openAuth(uri, [[libvirt.VIR_CRED_AUTHNAME, libvirt.VIR_CRED_PASSPHRASE], answer, None], 0)


def uris_of(connection: Connection) -> dict[str, str]:
    """Host -> URI. Raises MachineError with what is wrong of them."""
    found, where = connection.extra.get(URIS), f"connection {connection.id!r}: {URIS!r} in its extra"
    example = '{"uris": {"server1": "qemu+tls://server1.example/system"}}'
    if not isinstance(found, dict) or not found:
        told = "is missing" if found is None else f"is {found!r}"
        raise MachineError(f"{where} {told}; it must have each hypervisor's host and its libvirt's URI: {example}")
    for name, uri in found.items():
        if not isinstance(uri, str) or not urlsplit(uri).scheme:
            raise MachineError(f"{where}: of host {name!r}, {uri!r} is not a URI; write one as in {example}")
        asked = parse_qs(urlsplit(uri).query)
        for key, values in UNCHECKED:
            if set(asked.get(key, ())) & set(values):
                raise MachineError(
                    f"{where}: of host {name!r}, {key}={asked[key][0]} would accept any host that answers; remove "
                    "it, and give the worker the host's key (known_hosts) or the signer of its certificate"
                )
    return {name: _without_questions(uri) for name, uri in found.items()}


def _without_questions(uri: str) -> str:
    """ssh asks nobody for a password, as nobody sits at a worker."""
    parts = urlsplit(uri)
    if not parts.scheme.endswith("+ssh") or "no_tty" in parse_qs(parts.query):
        return uri
    return parts._replace(query="&".join(filter(None, [parts.query, "no_tty=1"]))).geturl()


_prepared = set[int]()
"""Processes, as a forked one has no threads of its parent's."""


def _prepare_process() -> None:
    """Once: errors are raised and not printed, and a thread sees to it that hosts which went away are noticed."""
    if os.getpid() in _prepared:
        return
    _prepared.add(os.getpid())
    libvirt.registerErrorHandler(_keep, None)
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, name="libvirt events", daemon=True).start()


def _run_events() -> None:
    while True:
        with suppress(libvirt.libvirtError):
            libvirt.virEventRunDefaultImpl()


class Reason(NamedTuple):
    """Of an error of libvirt: ``VIR_ERR_…``, ``VIR_FROM_…``, and what it says."""

    code: int
    domain: int
    said: str


_kept = threading.local()


def _keep(_: object, told: Sequence[Any]) -> None:
    """libvirt tells the handler each error in the thread that met it, before the call ends."""
    _kept.reason = Reason(*told[:3])


def reason(error: Any) -> Reason:
    """Why a call failed.

    libvirt's Python package asks for it only when the call has ended. If Python meanwhile collects another object of
    libvirt, whose end is a call, too, the error is without a reason; the handler has kept it.
    """
    if error.err is None:
        return getattr(_kept, "reason", Reason(libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_FROM_NONE, str(error)))
    return Reason(*error.err[:3])


@contextmanager
def naming(host: Host, doing: str, login: str = "") -> Iterator[None]:
    """What goes wrong, as a MachineError that names the host."""
    try:
        yield
    except libvirt.libvirtError as error:
        raise in_words(host, doing, error, login) from None


def in_words(host: Host, doing: str, error: Any, login: str = "") -> MachineError:
    code, domain, said = reason(error)
    said = said.strip()
    if code in REFUSED_LOGIN or any(words in said.lower() for words in REFUSED_BY_SSH):
        return MachineError(
            f"{host}: the login {login!r} was refused, or the host is not the known one ({said}); correct login and "
            "password of its connection, or the key and known_hosts that ssh uses on this worker"
        )
    if code in REFUSED_RIGHT:
        return MachineError(
            f"{host}: lacks the right to {doing} ({said}); docs/machines_libvirt.md lists the rights that "
            "clusterbench needs"
        )
    if domain in AWAY_FROM or code == libvirt.VIR_ERR_RPC or _is_lost(host.conn):
        return MachineAwayError(
            f"{host}: cannot be reached to {doing}: {said}; check that libvirt runs there and that the URI is right"
        )
    return MachineError(f"{host}: refused to {doing}: {said}")


def _is_lost(conn: Any) -> bool:
    if conn is None:
        return False
    try:
        return not conn.isAlive()
    except libvirt.libvirtError:
        return True
