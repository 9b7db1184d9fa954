"""A mail server with a login and a webhook's receiver, real ones on loopback, that keep what they were sent."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from clusterbench_lab import Lab

LOGIN, PASSWORD, SECRET_PATH = "bench", "mail-secret-4711", "hooks/T0/secret-path-0815"
TO = ["ada@example.org", "grace@example.org"]


@dataclass
class People:
    """``refuses``: both servers answer with an error."""

    mail_port: int = 0
    webhook_port: int = 0
    refuses: bool = False
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    posted: list[tuple[str, Any]] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  aiosmtpd's name
        if self.refuses:
            return "554 No thanks"
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        self.recipients.append(envelope.rcpt_tos)
        return "250 OK"

    def connections(self) -> dict[str, dict[str, Any]]:
        """As an operator writes them."""
        return {
            "clusterbench_smtp": {
                "conn_type": "smtp",
                "host": "127.0.0.1",
                "port": self.mail_port,
                "login": LOGIN,
                "password": PASSWORD,
                "extra": {
                    "from_email": "bench@example.org",
                    "to": TO,
                    "disable_ssl": True,
                    "disable_tls": True,
                    "retry_limit": 0,
                },
            },
            "clusterbench_webhook": {
                "conn_type": "http",
                "host": f"http://127.0.0.1:{self.webhook_port}",
                "password": SECRET_PATH,
            },
        }


@contextmanager
def listening() -> Iterator[People]:
    people = People()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not people.refuses:
                people.posted.append((self.path, json.loads(body)))
            self.send_response(500 if people.refuses else 200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    def authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == (LOGIN.encode(), PASSWORD.encode()), handled=False)

    webhook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=webhook.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:  # aiosmtpd wants to be told a port
        people.mail_port, people.webhook_port = free.getsockname()[1], webhook.server_address[1]
    mail = Controller(
        people,
        "127.0.0.1",
        people.mail_port,
        authenticator=authenticate,
        auth_required=True,
        auth_require_tls=False,
    )
    try:
        mail.start()
        yield people
    finally:
        mail.stop(no_assert=True)
        webhook.shutdown()
        webhook.server_close()


@contextmanager
def told_by(lab: Lab) -> Iterator[People]:
    """Who is told by a lab's Airflow: it has their connections for as long as the block lasts."""
    file, own = (lab.lab_dir / name for name in ("connections.json", "own_connections.json"))
    before = file.read_text()
    with listening() as servers:
        own.write_text(json.dumps(servers.connections()))  # for when a server is started, and the other made anew
        file.write_text(json.dumps({**json.loads(before), **servers.connections()}))
        try:
            yield servers
        finally:
            own.unlink()
            file.write_text(before)
