"""A Hadoop that somebody else runs."""
