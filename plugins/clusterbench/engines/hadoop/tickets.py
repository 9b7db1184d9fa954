"""Kerberos on the client host: a ticket that is valid for as long as anything is asked, and the keytab nowhere.

The keytab is in a connection. It travels on standard input, is a file of the client host for as long as kinit reads
it, and is in no log and no list of processes. What stays there is the ticket cache, which its owner alone may read and
which ``drop`` removes.
"""

from __future__ import annotations

import base64
import binascii
import time
from typing import TYPE_CHECKING

from clusterbench.base.errors import ClusterbenchError, EngineError
from clusterbench.base.scripts import script
from clusterbench.spec.platform import Kerberos

if TYPE_CHECKING:
    from clusterbench.engines.deployment import Deployment

ASKED_AGAIN_S = 300
"""So long a ticket that was seen to be valid is not looked at again."""
LEFT_S = 3600
"""Of a ticket that is used. One that ends earlier is fetched again, unless the KDC gives none that is valid so long."""
RENEWABLE = "7d"
"""Asked for, so that a job of days can renew its own; the KDC may give less."""


class Tickets:
    """Of one principal, on the client host of a deployment."""

    def __init__(self, deployment: Deployment, kerberos: Kerberos, folder: str) -> None:
        self.deployment, self.kerberos = deployment, kerberos
        self.cache = f"{folder}/krb5cc"
        self._seen_at: float | None = None

    @property
    def principal(self) -> str:
        return self.deployment.connections(self.kerberos.connection).login

    def have(self) -> None:
        """Get a ticket unless a valid one is there. Raises EngineError with Kerberos's own words."""
        if self._seen_at is None or time.monotonic() - self._seen_at > ASKED_AGAIN_S:
            self.get()

    def get(self, left_s: int = LEFT_S) -> None:
        """One that is valid for ``left_s`` yet, or as long as the KDC gives."""
        body = script(
            "hadoop/have_ticket",
            cache=self.cache,
            krb5_config=self.kerberos.krb5_conf,
            principal=self.principal,
            left_s=left_s,
            renewable=RENEWABLE,
        )
        self._run(f"{body}have_ticket <<'END'\n{self._keytab()}\nEND\n", f"the KDC must know {self.principal}")
        self._seen_at = time.monotonic()

    def drop(self) -> None:
        """No ticket stays on the client host."""
        self._run(script("hadoop/drop_ticket", cache=self.cache), "its login must own the ticket")
        self._seen_at = None

    def _run(self, body: str, remedy: str) -> None:
        deployment = self.deployment
        deployment.on_each({deployment.platform.client: body}, remedy)

    def _keytab(self) -> str:
        """In base64, once it is known to be a keytab: a message about it must come from here, without its text."""
        connection = self.deployment.connections(self.kerberos.connection)
        try:
            said = "".join(connection.need("keytab", "the keytab of its login, in base64 (base64 -w 0 FILE)").split())
        except ClusterbenchError as error:
            raise EngineError(f"{self.deployment.where}: {error}") from None
        try:
            is_one = base64.b64decode(said, validate=True)[:1] == b"\x05"
        except binascii.Error:
            is_one = False
        if not is_one or not connection.login:
            raise EngineError(
                f"{self.deployment.where}: connection {connection.id!r}: needs a principal as its login "
                f"(found {connection.login!r}), and as 'keytab' of its extra that principal's keytab in base64: "
                "base64 -w 0 FILE"
            )
        return said
