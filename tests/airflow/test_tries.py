"""Which errors of a step Airflow tries again, and how often. Airflow itself is not asked."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from clusterbench.airflow import tasks
from clusterbench.base.errors import ClusterbenchError, EngineError, HostError, NotYetError
from clusterbench.base.patience import NONE

RETRIES = tasks.DEFAULTS["retries"]


class FakeRun:
    patience = NONE

    def __init__(self) -> None:
        self.noted: list[str] = []

    def wait_for_who_is_away(self, *_: object) -> None:
        pass

    def note_error(self, _step: str, error: Exception, _platform: str) -> None:
        self.noted.append(str(error))


def tried(
    monkeypatch: pytest.MonkeyPatch, error: Exception, try_number: int, *, cleared_after: int = 0
) -> tuple[type[Exception], list[str]]:
    """What Airflow is told of a step that raises this, and what the report is."""
    ti = SimpleNamespace(try_number=cleared_after + try_number, max_tries=cleared_after + RETRIES)
    context = {"ti": ti, "task": SimpleNamespace(retries=RETRIES)}
    monkeypatch.setattr(tasks, "get_current_context", lambda: context)
    run: Any = FakeRun()

    def act(_: Any) -> None:
        raise error

    with pytest.raises(Exception) as told:
        tasks.run_step("generate_data", act, of=lambda _: run)
    return told.type, run.noted


@pytest.mark.parametrize("error", [HostError("no answer"), KeyError("rows")])
@pytest.mark.parametrize("cleared_after", [0, 4])
def test_an_error_that_may_pass_is_tried_three_times(
    monkeypatch: pytest.MonkeyPatch, error: Exception, cleared_after: int
) -> None:
    kinds = [tried(monkeypatch, error, number, cleared_after=cleared_after)[0] for number in (1, 2, 3)]
    assert kinds == [type(error), type(error), AirflowFailException]


def test_a_mistake_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tried(monkeypatch, EngineError("no such table"), 1) == (AirflowFailException, ["no such table"])
    assert tried(monkeypatch, ClusterbenchError("no"), 1)[0] is AirflowFailException


@pytest.mark.parametrize(
    "error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.ENOSPC, "full"), NotYetError("not yet")]
)
def test_a_worker_that_cannot_write_has_all_tries(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    assert tried(monkeypatch, error, RETRIES)[0] is type(error)


def test_a_file_that_is_not_there_is_no_fault_of_the_workers_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, noted = tried(monkeypatch, FileNotFoundError(errno.ENOENT, "no file"), 3)
    assert (kind, noted) == (
        AirflowFailException,
        ["FileNotFoundError: [Errno 2] no file; see the task's log for details"],
    )


def test_all_tries_last_for_an_hour() -> None:
    """Airflow waits at least so long between them: an API server may be away that long."""
    first_s, growth = tasks.DEFAULTS["retry_delay"].total_seconds(), tasks.DEFAULTS["retry_exponential_backoff"]
    most_s = tasks.DEFAULTS["max_retry_delay"].total_seconds()
    assert sum(min(first_s * growth**number, most_s) for number in range(RETRIES)) >= 3600


def test_who_was_away_has_its_task_back_within_minutes() -> None:
    assert tasks.DEFAULTS["max_retry_delay"].total_seconds() <= 300
