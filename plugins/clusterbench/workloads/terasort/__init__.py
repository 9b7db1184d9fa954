"""The TeraSort suite on Hadoop (paper 002)."""
