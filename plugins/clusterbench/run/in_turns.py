"""Platforms of a run that are measured in turns: all of them are held, and up, while one of them is measured."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from clusterbench.base.errors import EngineError, HostAwayError
from clusterbench.hosts import lease
from clusterbench.results import rounds
from clusterbench.run.run import Run
from clusterbench.trial.plan import Plan
from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)


def together_with(run: Run, platform: str) -> list[str]:
    """All that are measured in turns with it, in the order in which they are taken; itself where there are none."""
    planned = run.archive.get_json("plan.json") or {}
    return Plan.from_json(planned).together_with(platform) if planned.get("turns") else [platform]


def check_hosts(run: Run, testbed: Testbed) -> None:
    """Raises EngineError where a server of the platform is a host of another, which files alone do not tell."""
    own = testbed.platform
    for name in together_with(run, own.platform):
        if name == own.platform:
            continue
        with run.testbed(name) as other:
            same = lease.same_server(testbed.fleet, own, other.fleet, other.platform)
        if same:
            raise EngineError(
                f"platform {own.platform!r}: its host {same[0]!r} is host {same[1]!r} of platform {name!r} (they have "
                "the same SSH host key), and the two are measured in turns, so that one of them would be load beside "
                "the other's trials; give each a host of its own, or take one of them out of 'platforms_in_turns' in "
                f"dags/experiments/{run.experiment}.yaml"
            )


@contextmanager
def of_one_that_may_be_away(platform: str) -> Iterator[None]:
    """Whether its last trial has ended cannot be asked then, and the others are measured all the same."""
    try:
        yield
    except HostAwayError as error:
        log.warning("whether a trial on %s is still running cannot be told: %s", platform, error)


def notes_still_needed(run: Run, platform: str) -> set[str]:
    """Notes on shared hosts that stay when this platform is released: of those that were taken before it.

    What was taken first is released last, and with that all notes are gone.
    """
    names = together_with(run, platform)
    found: set[str] = set()
    for name in names[: names.index(platform)]:
        if not (rounds.begun(run.archive, name) and rounds.is_released(run.archive, name)):
            with run.testbed(name) as other:
                found |= lease.notes_of(other.fleet, other.platform)
    return found
