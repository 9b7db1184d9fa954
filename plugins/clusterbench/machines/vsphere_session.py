"""One login to a vCenter, and its faults in words."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim, vmodl

from clusterbench.base.connections import Connection
from clusterbench.base.errors import MachineAwayError, MachineError
from clusterbench.machines.vsphere_specs import words_of

TIMEOUT_S = 60
BROKEN = (OSError, http.client.HTTPException)
"""What a connection that is lost raises, beside ssl's own."""


class Session:
    """Host, port, login and password are an Airflow connection's.

    Its extra has ``ca``: in PEM, the certificate of who has signed vCenter's, or that one itself; without it the
    worker's own certificates decide. No certificate goes unchecked.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.instance: Any = None

    def __str__(self) -> str:
        return f"vCenter {self.connection.id} ({self.connection.host}:{self.port})"

    @property
    def port(self) -> int:
        return self.connection.port or 443

    @property
    def content(self) -> Any:
        return self.instance.RetrieveContent()

    @property
    def user(self) -> str:
        return str(self.content.sessionManager.currentSession.userName)

    def open(self) -> None:
        with naming(self, "log in"):
            self.instance = SmartConnect(
                host=self.connection.host,
                port=self.port,
                user=self.connection.login,
                pwd=self.connection.password,
                httpConnectionTimeout=TIMEOUT_S,
                sslContext=self._context(self.connection.extra.get("ca")),
            )

    def _context(self, ca: Any) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cadata=str(ca)) if ca else ssl.create_default_context()
        except ssl.SSLError as error:
            raise MachineError(
                f"{self}: 'ca' in the extra of its connection is not a certificate in PEM: {error}"
            ) from None

    def close(self) -> None:
        with suppress(Exception):  # it ends by itself; what was done is done
            Disconnect(self.instance)


@contextmanager
def naming(session: Session, doing: str) -> Iterator[None]:
    """What goes wrong, as a MachineError that names the vCenter."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise MachineError(
            f"{session}: its certificate is not signed by who is known here ({error.verify_message}); put the "
            "certificate of its signer, or its own, as 'ca' into the extra of its connection, when you have compared it"
        ) from None
    except vim.fault.InvalidLogin:
        raise MachineError(
            f"{session}: the login {session.connection.login!r} was refused; correct login or password of its "
            "connection"
        ) from None
    except vim.fault.NoPermission as fault:
        what = getattr(fault.object, "name", None) or "the inventory"
        raise MachineError(
            f"{session}: {session.connection.login!r} lacks the privilege {fault.privilegeId} on {what}, to {doing}; "
            "docs/machines.md lists what a role for clusterbench must have, and why"
        ) from None
    except vim.fault.NotAuthenticated as fault:
        raise MachineAwayError(f"{session}: the session has ended while it was to {doing}: {words_of(fault)}") from None
    except vmodl.MethodFault as fault:
        raise MachineError(f"{session}: refused to {doing}: {words_of(fault)}") from None
    except socket.gaierror as error:
        raise MachineError(f"{session}: there is no such name: {error}; correct 'host' of its connection") from None
    except BROKEN as error:
        raise MachineAwayError(
            f"{session}: cannot be reached to {doing}: {error or type(error).__name__}; is it up, and is the port "
            "right?"
        ) from None
