"""clusterbench: repeatable benchmarks of data clusters. docs/concepts.md and docs/words.md explain its words."""

__version__ = "0.2.0"
