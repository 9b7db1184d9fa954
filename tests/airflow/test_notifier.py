"""The notifier, at real servers: a mail server that wants a login, and a webhook's receiver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clusterbench.airflow import notifier
from clusterbench.airflow.notifier import NotificationError, PeopleNotifier
from clusterbench.run.weekly_mail import Message
from tests.people import PASSWORD, SECRET_PATH, TO, People, listening

MESSAGE = Message(
    "clusterbench week 2026-11-21: 1 regression",
    "smoke: slower by 8 %, {{ 7 * 7 }}, größer\n",
    {"text": "{{ 7 * 7 }}", "regressions": ["smoke"], "failed": [], "url": "http://airflow"},
    "<html>the report – größer</html>".encode(),
)


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Iterator[People]:
    monkeypatch.setattr(notifier, "PAUSE_S", 0)
    with listening() as servers:
        known(monkeypatch, servers.connections())
        yield servers


def known(monkeypatch: pytest.MonkeyPatch, connections: dict[str, dict[str, Any]]) -> None:
    """To Airflow, by its environment."""
    for conn_id in ("clusterbench_smtp", "clusterbench_webhook"):
        name = f"AIRFLOW_CONN_{conn_id.upper()}"
        if conn_id in connections:
            monkeypatch.setenv(name, json.dumps(connections[conn_id]))
        else:
            monkeypatch.delenv(name, raising=False)


def tell() -> None:
    PeopleNotifier(MESSAGE)({})


def test_mail_and_webhook_arrive_as_they_were_written(people: People) -> None:
    tell()
    (mail,) = people.mails
    assert mail["subject"] == MESSAGE.subject
    assert (mail["from"], mail["to"]) == ("bench@example.org", ", ".join(TO))
    assert people.recipients == [TO]
    text = mail.get_body(("plain",))
    assert text is not None and text.get_content().replace("\r", "") == MESSAGE.text, (
        "words of results are no templates"
    )
    (attached,) = mail.iter_attachments()
    assert attached.get_filename() == "report.html" and attached.get_content_type() == "text/html"
    assert attached.get_content().strip() == "<html>the report – größer</html>"
    assert people.posted == [(f"/{SECRET_PATH}", MESSAGE.webhook)]


def test_without_a_connection_the_log_says_that_nobody_is_told_and_how_to_change_that(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known(monkeypatch, {})
    tell()
    said = capsys.readouterr().out
    assert "no message was sent: there is no connection 'clusterbench_smtp' and no 'clusterbench_webhook'" in said
    assert "Admin, Connections" in said


@pytest.mark.parametrize("only", ["clusterbench_smtp", "clusterbench_webhook"])
def test_one_of_the_two_is_enough(people: People, monkeypatch: pytest.MonkeyPatch, only: str) -> None:
    known(monkeypatch, {only: people.connections()[only]})
    tell()
    assert (len(people.mails), len(people.posted)) == ((1, 0) if only == "clusterbench_smtp" else (0, 1))


def test_servers_that_refuse_are_both_named_and_no_secret_is(
    people: People, capsys: pytest.CaptureFixture[str]
) -> None:
    people.refuses = True
    with pytest.raises(NotificationError) as caught:
        tell()
    said = str(caught.value)
    assert "a message could not be sent: connection 'clusterbench_smtp':" in said and "No thanks" in said
    assert "connection 'clusterbench_webhook': 500" in said
    for secret in (PASSWORD, SECRET_PATH):
        assert secret not in said + capsys.readouterr().out


def test_a_mail_server_that_is_away_does_not_keep_the_webhook_from_being_told(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = people.connections()
    connections["clusterbench_smtp"]["port"] = 9
    known(monkeypatch, connections)
    with pytest.raises(NotificationError, match=r"'clusterbench_smtp'.*refused"):
        tell()
    assert len(people.posted) == 1, "once, however often the mail was tried"


def test_a_webhook_that_is_away_is_told_without_the_secret_part_of_its_address(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = people.connections()
    connections["clusterbench_webhook"]["host"] = "http://127.0.0.1:9"
    known(monkeypatch, connections)
    with pytest.raises(NotificationError, match="'clusterbench_webhook'") as caught:
        tell()
    assert SECRET_PATH not in str(caught.value)
    assert len(people.mails) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"password": "wrong"}, "Authentication credentials invalid"),
        (
            {"extra": {"from_email": "x@example.org", "disable_ssl": True, "disable_tls": True}},
            "its extra has no 'to', the recipients; add it in Airflow",
        ),
        (
            {"extra": {"to": TO, "disable_ssl": True, "disable_tls": True}},
            "its extra has no 'from_email', the sender; add it in Airflow",
        ),
    ],
)
def test_a_connection_that_is_wrong_is_told_in_words(
    people: People, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    known(monkeypatch, {"clusterbench_smtp": {**people.connections()["clusterbench_smtp"], **changed}})
    with pytest.raises(NotificationError) as caught:
        tell()
    assert said in str(caught.value)
    assert people.mails == []
