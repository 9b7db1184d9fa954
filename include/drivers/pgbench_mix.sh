# shellcheck shell=bash
# Runs a mix of scripts by pgbench, makes its log small, and asks what is asked before and after it. After pgbench.sh
# and pgbench_log.sh.
# Given: before and after, names of files of SQL: before.NAME.sql gives before.NAME.csv, and so after.
: "${before[@]-}" "${after[@]-}"
for name in ${before[@]+"${before[@]}"}; do ask --csv --file="before.$name.sql" >"before.$name.csv"; done
drive
reduce_log
# shellcheck disable=SC2154  # drive sets status
[ "$status" = 0 ] || exit "$status"
for name in ${after[@]+"${after[@]}"}; do ask --csv --file="after.$name.sql" >"after.$name.csv"; done
