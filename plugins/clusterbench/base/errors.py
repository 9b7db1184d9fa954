"""Errors a person can act on: each message says where, what was found, what is allowed, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

Awaited = Literal["archive", "hosts", "database"]
"""Who may be away for a while, each with a patience of its own (``base/patience.py``)."""


class ClusterbenchError(Exception):
    """Base of all errors that clusterbench raises on purpose; the command line prints them without a traceback."""


class AwayError(ClusterbenchError):
    """Somebody who is needed does not answer, and may be back later: an outage, which is no finding."""

    awaited: Awaited
    may_be_our_doing = False
    """What is tried again may itself be the cause. So one that is met after long work gets no new patience."""


class SpecError(ClusterbenchError):
    """A YAML file or a choice made in the form is wrong. Holds one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class HostError(ClusterbenchError):
    """One or more hosts could not be reached, refused the login, changed their key, or failed a command."""


class HostAwayError(HostError, AwayError):
    """Hosts do not answer, or the connection to them broke. One that refuses the login is not away."""

    awaited: Awaited = "hosts"


class HostFullError(HostAwayError):
    """The disk of a host is full. People may make room there; what is tried again may have filled it."""

    may_be_our_doing = True


class EngineError(ClusterbenchError):
    """The engine under test is down, full, too small or answered with an error."""


class EngineAwayError(EngineError, AwayError):
    """The engine, or hosts of it, do not answer, and clusterbench cannot or may not bring it back."""

    def __init__(self, message: str, awaited: Awaited = "database", *, may_be_our_doing: bool = False) -> None:
        self.awaited, self.may_be_our_doing = awaited, may_be_our_doing
        super().__init__(message)


class NotYetError(ClusterbenchError):
    """Something else has to be done first; another try may find it done."""


class StoppedError(ClusterbenchError):
    """A person has stopped what was going on."""


class DatasetError(ClusterbenchError):
    """A dataset is not what it should be; nothing was measured on it."""


class ArchiveError(ClusterbenchError):
    """Object storage denied, vanished, or already holds what was to be written."""


class ArchiveAwayError(ArchiveError, AwayError):
    """Object storage does not answer, answers with an error of its own, or denies what it allowed before."""

    awaited: Awaited = "archive"


class HistoryError(ClusterbenchError):
    """The history database is away, refuses, or is asked for what it does not have. Archives are none the worse."""


class RemarkError(ClusterbenchError):
    """A person's remark says nothing, or is of what is not there; nothing was kept unless the message says so."""


class MachineError(ClusterbenchError):
    """A hypervisor refused, a machine is somebody else's, or one did not come up; the message says what to do."""


class MachineAwayError(MachineError, HostAwayError):
    """A hypervisor does not answer; it is waited for as hosts are."""


class LeaseError(ClusterbenchError):
    """The cluster is held by another run.

    ``holder`` and ``platform`` are that run and as what it measures the cluster, as far as the note tells; none where
    the holder has left the cluster changed, so that a person has to look.
    """

    def __init__(self, message: str, holder: str = "", platform: str = "") -> None:
        super().__init__(message)
        self.holder, self.platform = holder, platform


class LabError(ClusterbenchError):
    """The lab on this machine could not be started, or is not what it should be."""


class AirflowApiError(ClusterbenchError):
    """The Airflow API could not be reached or refused a request."""


class AirflowAwayError(AirflowApiError):
    """Nobody answers where the Airflow API is, or only with an error of its own; later somebody may."""


class AirflowUnknownError(AirflowApiError):
    """Airflow does not know what it was asked for: a DAG, a run, a task."""


def engine_error(cause: Exception, message: str) -> EngineError:
    """What the engine cannot do because of ``cause``: away where that is."""
    if not isinstance(cause, AwayError):
        return EngineError(message)
    return EngineAwayError(message, cause.awaited, may_be_our_doing=cause.may_be_our_doing)


def suggest(found: str, allowed: Iterable[str]) -> str:
    """`; did you mean 'x'? Allowed: …` for an error about a name that is not one of ``allowed``."""
    names = sorted(allowed)
    close = difflib.get_close_matches(found, names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ";"
    return f"{meant} Allowed: {', '.join(names)}" if names else f"{meant} nothing is allowed here"


def lacking(error: ModuleNotFoundError) -> str:
    """In words: a part of Airflow was installed without what it needs, which are extras of the package."""
    return (
        f"the Python package {error.name!r} is not installed here; 'clusterbench doctor --project' on this machine "
        "lists what is missing, and pip install 'clusterbench[all]' installs all of it"
    )
