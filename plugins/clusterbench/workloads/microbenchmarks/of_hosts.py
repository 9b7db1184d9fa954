"""What workloads have in common that measure hosts and ask no engine: nothing is generated, kept or answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from clusterbench.base.datasets import Dataset, Storage
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.scripts import assignments
from clusterbench.workloads.made_by_trials import MadeByTrials


class OfHosts(MadeByTrials):
    """A workload without data."""

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


def choices(said: Mapping[str, object], lists: Mapping[str, Sequence[str]] | None = None) -> str:
    """Lines of bash that set variables, and arrays."""
    return assignments({name: str(value) for name, value in said.items()} | dict(lists or {}))


def program(name: str) -> str:
    return own_or_built_in(f"include/microbenchmarks/{name}.sh").read_text()
