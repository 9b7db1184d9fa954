"""clusterbench: repeatable benchmarks of data clusters. See docs and README for the words used here."""
