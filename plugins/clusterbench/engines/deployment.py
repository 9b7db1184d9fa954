"""What engines have in common that are reached over SSH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.connections import Connections, no_connections
from clusterbench.base.errors import HostError, engine_error
from clusterbench.base.feature import Feature
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform


class Deployment:
    """One deployment on the hosts of a platform; ``facts`` are those of set-up."""

    command_s = 120
    """What a script on a host may take, unless it says otherwise."""

    def __init__(self, platform: Platform, fleet: Fleet, facts: Mapping[str, Any] | None) -> None:
        self.platform, self.fleet = platform, fleet
        self.facts_of_set_up = dict(facts or {})
        self.connections: Connections = no_connections

    @property
    def unavailable(self) -> Mapping[str, str]:
        return self.unavailable_on(self.platform, self.facts_of_set_up)

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        raise NotImplementedError

    @property
    def where(self) -> str:
        """The beginning of every error."""
        return f"platform {self.platform.platform!r}"

    def driver_facts(self) -> dict[str, Any]:
        """Nothing, where drivers open no sessions."""
        return {}

    def features(self, facts: Mapping[str, Any]) -> Sequence[Feature]:  # noqa: ARG002  as every engine
        """Nothing, where all of a kind have the same."""
        return ()

    @property
    def exposed(self) -> Sequence[str]:
        return ()

    def others(self) -> Sequence[str]:
        """Nobody, where there are no sessions."""
        return []

    def disturbed(self, before: Mapping[str, float], after: Mapping[str, float]) -> str:  # noqa: ARG002  as every engine
        """Nobody knows, where other people's work is not counted."""
        return ""

    def end_driver(self) -> None:
        """Nothing, where what a driver started ends with it."""

    def mark_logs(self, name: str) -> None:
        """Nothing, unless there is something to be counted in the engine's logs."""

    def logged_since(self, name: str) -> dict[str, int]:  # noqa: ARG002  as above
        return {}

    def on_each(self, scripts: Mapping[str, str], remedy: str, *, timeout_s: int | None = None) -> dict[str, str]:
        """Output by host. Raises EngineError with what the hosts said, and the remedy."""
        try:
            answers = self.fleet.run_each(scripts, timeout_s=timeout_s or self.command_s)
        except HostError as error:
            raise engine_error(error, f"{self.where}: {error}\n  {remedy}") from None
        return {host: answer.output for host, answer in answers.items()}

    def try_each(self, scripts: Mapping[str, str], *, timeout_s: float) -> tuple[dict[str, str], dict[str, str]]:
        """As ``on_each``, and one host's failure costs no other's answer: output by host, and why others gave none."""
        answers, failures = self.fleet.try_each(scripts, timeout_s=timeout_s)
        failures |= {
            host: f"host {host!r} reported: {answer.error.strip()[-500:]}"
            for host, answer in answers.items()
            if answer.exit_status
        }
        return {host: answer.output for host, answer in answers.items() if not answer.exit_status}, failures
