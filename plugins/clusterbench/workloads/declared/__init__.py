"""Workloads that are folders: ``include/sql/<name>/workload.yaml`` and SQL beside it. See docs/workload.md."""
