"""What workloads have in common whose trials make their own data: before the first one nothing is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clusterbench.base.datasets import Dataset

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine


class MadeByTrials:
    """The parts of a workload that are about data and answers, of one that keeps none and whose bytes mean nothing."""

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
