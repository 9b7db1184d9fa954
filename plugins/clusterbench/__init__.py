"""clusterbench: repeatable benchmarks of data clusters. See docs and README for the words used here."""

__version__ = "0.2.0"
