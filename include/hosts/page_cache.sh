# shellcheck shell=bash
# What the host's page cache holds, and how much memory there is.
grep -E '^(MemTotal|Cached|Shmem):' /proc/meminfo
