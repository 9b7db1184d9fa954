# shellcheck shell=bash
# End the PgBouncer of a folder, if it runs; its file of passwords goes, too.
# Given: directory.
: "${directory:?}"

cd "$directory" 2>/dev/null || exit 0
if [ -s pid ] && grep -q pgbouncer "/proc/$(cat pid)/comm" 2>/dev/null; then
  pid=$(cat pid)
  kill "$pid"
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
fi
rm -f pid users
