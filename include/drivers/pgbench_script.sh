# shellcheck shell=bash
# Runs one script by pgbench, makes its log small, and then asks for what its answers are checked by. After pgbench.sh
# and pgbench_log.sh.
trap : TERM  # at its time limit pgbench ends; this goes on, so that what there is of the log is made small
drive
reduce_log
# shellcheck disable=SC2154  # drive sets status
[ "$status" = 0 ] || exit "$status"
if [ -s answers.sql ]; then
  ask --no-align --tuples-only --record-separator-zero --file=answers.sql >answers.txt
fi
