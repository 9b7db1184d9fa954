"""The sequence of a run and of a week: steps, validation, accepted baselines, messages to people."""
