# shellcheck shell=bash
# Runs one script by pgbench, and then asks for what its answers are checked by. After pgbench.sh.
drive
# shellcheck disable=SC2154  # drive sets status
[ "$status" = 0 ] || exit "$status"
if [ -s answers.sql ]; then
  ask --no-align --tuples-only --record-separator-zero --file=answers.sql >answers.txt
fi
