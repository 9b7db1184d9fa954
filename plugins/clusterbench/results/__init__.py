"""What numbers say: statistics, verdicts, comparison, durability."""
