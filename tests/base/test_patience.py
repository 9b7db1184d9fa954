"""Who is away is waited for: until they are back, or until patience ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest

from clusterbench.base import patience
from clusterbench.base.errors import (
    ArchiveAwayError,
    AwayError,
    ClusterbenchError,
    EngineAwayError,
    HostAwayError,
    HostError,
    HostFullError,
    engine_error,
)
from clusterbench.base.patience import ARCHIVE, CLUSTER, NONE, Outage, Patience


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that have passed: by sleeping, and by what an attempt adds."""
    passed = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: passed.__setitem__(0, passed[0] + seconds))
    return passed


def failing(*errors: Exception | None) -> Callable[[], str]:
    """An attempt that ends with each of these in turn, the last one for ever; None is success."""
    left = itertools.chain(errors, itertools.repeat(errors[-1]))

    def attempt() -> str:
        if error := next(left):
            raise error
        return "done"

    return attempt


DOWN = HostAwayError("host 'sdw1' (10.0.0.3): no connection within 10 s\n  and more")


def test_who_comes_back_in_time_costs_nothing_and_is_told(clock: list[float]) -> None:
    heard: list[Outage] = []
    patient = Patience(lambda _: 600.0, heard.append)
    assert patient.insist(failing(DOWN, DOWN, DOWN, None), CLUSTER) == "done"
    assert clock[0] == 2 + 4 + 8, "each pause is twice the one before it"
    begun, ended = heard
    assert str(begun).startswith("waiting for the hosts since 20")
    assert str(begun).endswith(" UTC: host 'sdw1' (10.0.0.3): no connection within 10 s")
    assert (ended.is_over, ended.until is not None, patient.ended) == (True, True, [ended])
    assert str(ended).startswith("the hosts were waited for, 0:00:00")
    assert Outage.from_json(ended.as_json()).awaited == "hosts"


def test_patience_ends_and_the_error_is_raised_once_for_all(clock: list[float]) -> None:
    heard: list[Outage] = []
    patient = Patience(lambda _: 600.0, heard.append)
    with pytest.raises(HostAwayError):
        patient.insist(failing(DOWN), CLUSTER)
    assert 600 <= clock[0] <= 600 + patience.LONGEST_PAUSE_S
    assert not heard[-1].is_over and "in vain" in str(heard[-1])
    with pytest.raises(HostAwayError):
        patient.insist(failing(DOWN), CLUSTER)
    assert clock[0] <= 600 + patience.LONGEST_PAUSE_S, "nobody is waited for again who was waited for in vain"
    assert patient.insist(failing(ArchiveAwayError("s3"), None), ARCHIVE) == "done", "but others are"


@pytest.mark.parametrize(
    "error", [HostError("host 'a': the login was refused"), ValueError("ours"), ArchiveAwayError("")]
)
def test_what_is_no_outage_of_those_is_raised_at_once(clock: list[float], error: Exception) -> None:
    with pytest.raises(type(error)):
        Patience(lambda _: 600.0, lambda _: None).insist(failing(error), CLUSTER)
    assert clock[0] == 0


def test_nobody_waits_at_a_command_line(clock: list[float]) -> None:
    with pytest.raises(HostAwayError):
        NONE.insist(failing(DOWN), CLUSTER)
    assert clock[0] == 0 and NONE.ended == []


def test_an_outage_after_a_long_attempt_is_another_one(clock: list[float]) -> None:
    """A host that is lost every hour of a generation of days is not one that was away for days."""
    heard: list[Outage] = []
    times = itertools.count()

    def attempt() -> str:
        clock[0] += 1000.0
        if next(times) < 5:
            raise DOWN
        return "done"

    assert Patience(lambda _: 60.0, heard.append).insist(attempt, CLUSTER) == "done"
    ended = [outage for outage in heard if outage.until]
    assert len(ended) == 5 and all(outage.is_over for outage in ended)


def test_a_disk_that_every_long_attempt_fills_is_not_waited_for_again_and_again(clock: list[float]) -> None:
    """Of a generation that takes an hour to fill it. As an engine of that host says it, too."""
    full = HostFullError("host a: its disk is full")
    for error in (full, engine_error(full, "the database")):

        def attempt(error: Exception = error) -> str:
            clock[0] += 3600.0
            raise error

        begun = clock[0]
        with pytest.raises(AwayError):
            Patience(lambda _: 1800.0, lambda _: None).insist(attempt, CLUSTER)
        assert clock[0] - begun < 3 * 3600.0


def test_threads_that_wait_for_the_same_wait_together() -> None:
    heard: list[Outage] = []
    patient = Patience(lambda _: 600.0, heard.append)
    is_up = threading.Event()
    tried = threading.Barrier(5)

    def attempt() -> None:
        if not is_up.is_set():
            tried.wait(60)
            raise ArchiveAwayError("object storage")

    threads = [threading.Thread(target=patient.insist, args=(attempt, ARCHIVE)) for _ in range(4)]
    for thread in threads:
        thread.start()
    tried.wait(60)
    is_up.set()
    for thread in threads:
        thread.join(60)
    assert [(one.until is None, one.is_over) for one in heard] == [(True, False), (False, True)]
    assert len(patient.ended) == 1


def test_another_error_ends_the_waiting_and_is_raised(clock: list[float]) -> None:
    heard: list[Outage] = []
    with pytest.raises(ClusterbenchError, match="refused"):
        Patience(lambda _: 600.0, heard.append).insist(failing(DOWN, HostError("refused")), CLUSTER)
    assert heard[-1].is_over and clock[0] == patience.FIRST_PAUSE_S


def test_an_engine_is_away_for_the_reason_that_its_host_is() -> None:
    error = engine_error(DOWN, "platform 'a': host 'sdw1' …")
    assert isinstance(error, EngineAwayError) and isinstance(error, AwayError) and error.awaited == "hosts"
    assert not isinstance(engine_error(HostError("exit status 1"), "platform 'a'"), AwayError)
