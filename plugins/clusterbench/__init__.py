"""clusterbench: repeatable benchmarks of data clusters. See docs/concepts.md and docs/words.md for the words used here."""

__version__ = "0.2.0"
