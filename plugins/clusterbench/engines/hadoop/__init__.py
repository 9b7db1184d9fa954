"""Hadoop: its configuration, its daemons, and how its own reports are read."""
