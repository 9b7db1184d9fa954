"""What is declared: experiments, platforms and published results, each one YAML file, typed and strict."""

from clusterbench.spec.experiment import EXTENTS, SCALES, Experiment, Part, Regression, Sweep, SweepFinding
from clusterbench.spec.platform import Platform
from clusterbench.spec.published import (
    Published,
    PublishedDifference,
    PublishedMetric,
    PublishedMetrics,
    PublishedTable,
    PublishedValue,
)

__all__ = [
    "EXTENTS",
    "SCALES",
    "Experiment",
    "Part",
    "Platform",
    "Published",
    "PublishedDifference",
    "PublishedMetric",
    "PublishedMetrics",
    "PublishedTable",
    "PublishedValue",
    "Regression",
    "Sweep",
    "SweepFinding",
]
