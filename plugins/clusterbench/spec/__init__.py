"""What is declared: experiments, platforms and published results, each one YAML file, typed and strict."""

from clusterbench.spec.experiment import EXTENTS, SCALES, Experiment, Part, Regression, Sweep
from clusterbench.spec.platform import Platform
from clusterbench.spec.published import Published, PublishedMetric, PublishedMetrics, PublishedTable, PublishedValue

__all__ = [
    "EXTENTS",
    "SCALES",
    "Experiment",
    "Part",
    "Platform",
    "Published",
    "PublishedMetric",
    "PublishedMetrics",
    "PublishedTable",
    "PublishedValue",
    "Regression",
    "Sweep",
]
