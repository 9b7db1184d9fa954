"""Where a host is and how to log in: an SSH connection, read as ``apache-airflow-providers-ssh`` reads it.

Read here and not by the provider's hook, because a hook logs in to one host and imports a second SSH library for it;
``tests/airflow/test_ssh_connections.py`` holds the two together. What is ours: ``work_dir``, ``jump_host`` and
``host_proxy_cmd`` of the extra. The provider takes the last of them as an argument, or from ``~/.ssh/config``, which is
not read here: no worker needs a file.
"""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import HostError

SSH_PORT = 22
CONNECT_TIMEOUT_S = 10.0
"""As the provider's ``conn_timeout``, where the connection does not say otherwise."""
WORK_DIR = ".clusterbench"
KNOWN_HOSTS = "~/.ssh/known_hosts"


def bracketed(address: str) -> str:
    """As a URL has it: an address of IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


@dataclass(frozen=True)
class Address:
    """Where a host is, how it is known, and with what to log in. What is secret stays out of ``repr``."""

    name: str
    host: str
    port: int
    login: str
    host_key: str = ""
    """Its public key, type and key: no other is talked to. Empty: ``known_hosts`` has it."""
    known_hosts: str = ""
    """A file of public keys, in place of ``host_key``. Where both are empty, any host is taken for this one."""
    key_file: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    """The key itself, in place of its file."""
    passphrase: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    finds_keys: bool = False
    """Whether the keys are used that are in the worker's ``~/.ssh``, where the connection names none."""
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    ciphers: tuple[str, ...] = ()
    proxy_command: str = ""
    """A program whose input and output are the connection, with %h, %p and %r for host, port and login."""
    jump: Address | None = None
    """The bastion: another host, through which this one is reached."""
    work_dir: str = WORK_DIR
    """Absolute, or from the login's home; see ``Fleet.work_dir``."""

    @classmethod
    def of(cls, name: str, connection: Connection, connections: Connections) -> Address:
        """The address of the host that a platform's file calls ``name``. Raises HostError with what to correct."""
        return _Reader(name, connection).address(connections, ())

    @property
    def is_behind_another(self) -> bool:
        """Whether it is not reached directly."""
        return self.jump is not None or bool(self.proxy_command)

    def __str__(self) -> str:
        through = f" through {self.jump.host}" if self.jump else ""
        return f"{self.name} ({self.login}@{self.host}:{self.port}{through})"


class _Reader:
    """The keys of one connection's extra, with errors that name it."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name, self.connection, self.extra = name, connection, connection.extra

    def address(self, connections: Connections, before: Sequence[str]) -> Address:
        """``before``: ids of the connections that lead here by ``jump_host``."""
        if not self.connection.host:
            raise self.wrong("has no host; add its address in Airflow")
        host_key, known_hosts = self._how_it_is_known()
        keys = {key: self._text(key) for key in ("key_file", "private_key")}
        if all(keys.values()):
            raise self.wrong("has both 'key_file' and 'private_key' in its extra; leave one of them out")
        proxy_command = self._text("host_proxy_cmd")
        jump = self._jump(connections, before)
        if proxy_command and jump:
            raise self.wrong("has both 'host_proxy_cmd' and 'jump_host' in its extra; leave one of them out")
        return Address(
            name=self.name,
            host=self.connection.host,
            port=self.connection.port or SSH_PORT,
            login=self.connection.login or getpass.getuser(),
            host_key=host_key,
            known_hosts=known_hosts,
            **keys,
            passphrase=self._text("private_key_passphrase") or self._text("passphrase"),
            password=self.connection.password,
            finds_keys=not any(keys.values()) and not self._is("look_for_keys", "false"),
            connect_timeout_s=self._seconds("conn_timeout"),
            ciphers=self._ciphers(),
            proxy_command=proxy_command,
            jump=jump,
            work_dir=self._text("work_dir") or WORK_DIR,
        )

    def wrong(self, what: str) -> HostError:
        return HostError(f"host {self.name!r}: connection {self.connection.id!r} {what}")

    def _how_it_is_known(self) -> tuple[str, str]:
        """Its key, or the file that has it; neither where the connection says that nobody need ask."""
        unchecked = self._is("no_host_key_check", "true")
        if host_key := self._text("host_key"):
            if unchecked:
                raise self.wrong("has both 'host_key' and 'no_host_key_check'; remove one of them")
            words = host_key.split()
            return (" ".join(words[:2]) if len(words) > 1 else f"ssh-rsa {words[0]}"), ""
        if unchecked:
            return "", ""
        file = Path(self._text("known_hosts") or KNOWN_HOSTS).expanduser()
        if not file.is_file():
            raise self.wrong(
                f"has no 'host_key' in its extra, and there is no {file} here; put the host's public key there, as "
                "ssh-keyscan prints it, to pin it"
            )
        return "", str(file)

    def _jump(self, connections: Connections, before: Sequence[str]) -> Address | None:
        wanted = self._text("jump_host")
        if not wanted:
            return None
        ids = [*before, self.connection.id]
        if wanted in ids:
            raise self.wrong(f"is reached through itself: {' -> '.join([*ids, wanted])}; correct 'jump_host'")
        return _Reader(wanted, connections(wanted)).address(connections, ids)

    def _text(self, key: str) -> str:
        value = self.extra.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.wrong(f"has {key!r} in its extra, which must be text: found {type(value).__name__}")

    def _is(self, key: str, wanted: str) -> bool:
        return str(self.extra.get(key, "")).lower() == wanted

    def _seconds(self, key: str) -> float:
        value = self.extra.get(key)
        try:
            seconds = CONNECT_TIMEOUT_S if value in (None, "") else float(str(value))
        except ValueError:
            seconds = 0.0
        if not seconds > 0:
            raise self.wrong(f"has {key!r} in its extra, which must be seconds, more than 0; found {value!r}")
        return seconds

    def _ciphers(self) -> tuple[str, ...]:
        value = self.extra.get("ciphers") or []
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong("has 'ciphers' in its extra, which must be a list of names, as sshd_config has them")
        return tuple(value)
