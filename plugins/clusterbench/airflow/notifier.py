"""An Airflow notifier: a message by mail and to a webhook, as far as their connections are there.

Airflow's own two are not enough: ``SmtpNotifier`` sends HTML only, and both take what they send for a Jinja template,
while the words of a failed trial come from anywhere. Their hooks do the work.
"""

from __future__ import annotations

import smtplib
import time
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any, cast

from airflow.providers.http.hooks.http import HttpHook
from airflow.providers.smtp.hooks.smtp import SmtpHook
from airflow.sdk import BaseHook, BaseNotifier, Context

from clusterbench.airflow.versions import AirflowNotFoundException
from clusterbench.base.errors import ClusterbenchError
from clusterbench.run.weekly_mail import Message
from clusterbench.spec.project import connection_id

SMTP, WEBHOOK = "clusterbench_smtp", "clusterbench_webhook"
TIMEOUT_S = 30
TRIES, PAUSE_S = 3, 10.0
"""Of each way by itself: were the task tried again, those who got the mail would get it again."""


class NotificationError(ClusterbenchError):
    """Somebody was to be told and could not be; the message says by which way and why."""


class PeopleNotifier(BaseNotifier):
    """Tries each way whatever became of the other; raises NotificationError when all are tried."""

    def __init__(self, message: Message) -> None:
        super().__init__()
        self.message = message

    def notify(self, context: Context) -> None:  # noqa: ARG002  Airflow's signature
        ways: dict[str, Callable[[Any, Message], str]] = {SMTP: by_mail, WEBHOOK: by_webhook}
        there = {conn_id: found for conn_id in ways if (found := _connection(conn_id))}
        if not there:
            self.log.warning(
                "no message was sent: there is no connection %r and no %r; add one in Airflow under Admin, Connections "
                "(docs/operate.md, The weekly run)", SMTP, WEBHOOK,
            )  # fmt: skip
        problems = []
        for conn_id, connection in there.items():
            problem = self._try(ways[conn_id], connection)
            problems += [f"connection {conn_id!r}: {problem}"] if problem else []
        if problems:
            raise NotificationError("a message could not be sent: " + "; ".join(problems))

    def _try(self, way: Callable[[Any, Message], str], connection: Any) -> str:
        """What went wrong the last time; empty once it is done."""
        problem = ""
        for number in range(TRIES):
            if number:
                time.sleep(PAUSE_S)
            try:
                self.log.info("%s", way(connection, self.message))
                return ""
            except Exception as error:  # libraries of mail and HTTP raise what they like
                problem = _said(error, connection)
        return problem


def by_mail(connection: Any, message: Message) -> str:
    """Plain text, and the report as an attachment. Returns the receivers."""
    to = connection.extra_dejson.get("to") or []
    recipients = [to] if isinstance(to, str) else list(to)
    sender = connection.extra_dejson.get("from_email")
    if not recipients or not sender:
        missing = "'to', the recipients" if not recipients else "'from_email', the sender"
        raise ClusterbenchError(f"its extra has no {missing}; add it in Airflow under Admin, Connections")
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = message.subject, sender, ", ".join(recipients)
    mail.set_content(message.text)
    if message.report:
        mail.add_attachment(message.report.decode(), subtype="html", filename="report.html")
    with SmtpHook(connection_id(SMTP)) as hook:
        client = cast("smtplib.SMTP", hook._smtp_client)  # the hook's own method sends HTML only
        refused = client.send_message(mail)
    if refused:
        raise ClusterbenchError(f"the server refused {', '.join(f'{who}: {why}' for who, why in refused.items())}")
    return f"sent by mail to: {', '.join(recipients)}"


def by_webhook(connection: Any, message: Message) -> str:
    """The address is the connection's; its secret part, where it has one, is kept as the password."""
    secret_path = "" if connection.login else connection.password
    hook = HttpHook("POST", connection_id(WEBHOOK))
    hook.run(secret_path or None, json=dict(message.webhook), extra_options={"timeout": TIMEOUT_S})
    return f"sent to the webhook at {connection.host}"


def _connection(conn_id: str) -> Any:
    try:
        return BaseHook.get_connection(connection_id(conn_id))
    except AirflowNotFoundException:
        return None


def _said(error: Exception, connection: Any) -> str:
    """Without the password, which may be a part of an address that the error repeats."""
    text = str(error) or type(error).__name__
    return text.replace(connection.password, "***") if connection.password else text
