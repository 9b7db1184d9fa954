"""What workloads have in common that measure hosts and ask no engine: nothing is generated, kept or answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from clusterbench.base.datasets import Dataset, Storage
from clusterbench.base.paths import own_or_built_in

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine


class OfHosts:
    """The parts of a workload that are about data and answers, of one that has none."""

    runs_on: Literal["client", "etl"] = "client"

    @staticmethod
    def nothing_kept(name: str, seed: int, size: str = "") -> Dataset:
        """Of no bytes in the engine; ``size`` tells one from another."""
        return Dataset(
            name=name,
            table=f"{name}{size}",
            rows=0,
            seed=seed,
            bytes_expected=0,
            storage=Storage(""),
            is_of_trial=True,
            space="nothing is kept",
        )

    def is_generated(self, dataset: Dataset, engine: Engine) -> bool:  # noqa: ARG002  as every workload has it
        return False

    def generate(self, dataset: Dataset, engine: Engine) -> None:
        """Nothing: every trial makes its own."""

    def inspect(self, dataset: Dataset, engine: Engine) -> dict[str, object]:  # noqa: ARG002  nothing is there
        return {}

    def checksum(self, dataset: Dataset) -> str | None:  # noqa: ARG002  as above
        return None

    def answers(
        self,
        dataset: Dataset,  # noqa: ARG002  as above
        trials: Sequence[Trial],  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        return None

    def relations(self, trial: Trial) -> list[str]:  # noqa: ARG002  as above
        return []


def choices(said: Mapping[str, object], lists: Mapping[str, Sequence[str]] | None = None) -> str:
    """Lines of bash that set variables, and arrays."""
    lines = [f"{name}={quote(str(value))}" for name, value in said.items()]
    lines += [f"{name}=({' '.join(map(quote, values))})" for name, values in (lists or {}).items()]
    return "\n".join(lines) + "\n"


def program(name: str) -> str:
    return own_or_built_in(f"include/microbenchmarks/{name}.sh").read_text()
