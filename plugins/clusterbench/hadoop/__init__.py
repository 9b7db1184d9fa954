"""What is Hadoop's alone: its configuration, its daemons, and how its own reports are read."""
