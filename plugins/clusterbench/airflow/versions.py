"""What Airflow 3.1 calls otherwise than 3.2 and newer do, under one name. Nothing else asks which version there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow import __version__

IS_3_2 = tuple(int(part) for part in __version__.split(".")[:2]) >= (3, 2)

if TYPE_CHECKING or IS_3_2:
    from airflow.sdk import CronTriggerTimetable
    from airflow.sdk.configuration import conf
    from airflow.sdk.definitions.callback import SyncCallback
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
    )
else:
    from airflow.configuration import conf
    from airflow.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowNotFoundException,
        AirflowSkipException,
    )
    from airflow.timetables.trigger import CronTriggerTimetable

    SyncCallback = None  # a deadline of 3.1 calls asynchronous functions only

TWICE_AS_LONG: Any = 2.0 if IS_3_2 else True
"""Of ``retry_exponential_backoff``."""
HAS_TEAMS = HAS_DEADLINES = KNOWS_PAUSED = IS_3_2
"""Whether DAGs belong to teams, whether a deadline may call what is not asynchronous, and whether a task can ask if a
DAG is paused."""

__all__ = [
    "HAS_DEADLINES",
    "HAS_TEAMS",
    "KNOWS_PAUSED",
    "TWICE_AS_LONG",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSkipException",
    "CronTriggerTimetable",
    "SyncCallback",
    "conf",
]
