# shellcheck shell=bash
# Start PgBouncer in its folder, which has its configuration, and see that it stays up.
# Given: directory.
: "${directory:?}"

cd "$directory" || exit
: >log
PATH=$PATH:/usr/sbin pgbouncer --daemon --quiet pgbouncer.ini </dev/null >&2 || { tail -n 3 log >&2; exit 1; }
for _ in $(seq 100); do
  [ -s pid ] && break
  sleep 0.05
done
kill -0 "$(cat pid)" || { tail -n 3 log >&2; exit 1; }
