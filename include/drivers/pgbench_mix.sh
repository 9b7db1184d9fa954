# shellcheck shell=bash
# Runs a mix of scripts by pgbench, makes its log small, and asks what is asked before and after it. After pgbench.sh
# and pgbench_log.sh.
# Given: before and after, names of files of SQL: before.NAME.sql gives before.NAME.csv, and so after; start_s, the epoch
# second at which it begins, or 0; linger_s, how long other drivers may take to end after this one.
: "${before[@]-}" "${after[@]-}" "${start_s?}" "${linger_s?}"
for name in ${before[@]+"${before[@]}"}; do ask --csv --file="before.$name.sql" >"before.$name.csv"; done
if [ "$start_s" != 0 ]; then
  left_s=$(awk -v start="$start_s" -v now="$(date +%s.%N)" 'BEGIN { printf "%.3f", start - now }')
  case $left_s in -*) echo "$left_s" >late.txt ;; *) sleep "$left_s" ;; esac
fi
drive
sleep "$linger_s"
reduce_log
# shellcheck disable=SC2154  # drive sets status
[ "$status" = 0 ] || exit "$status"
for name in ${after[@]+"${after[@]}"}; do ask --csv --file="after.$name.sql" >"after.$name.csv"; done
