# shellcheck shell=bash
# Start the servers that do not run, and wait until they answer. After instances.sh.
: "${program:?}"

start() {
  ! alive "$1" || return 0
  local options
  # As it was started before: the server itself keeps its options there, as pg_ctl restart uses them.
  options=$(sed -n '1{s/^[^"]*//; s/"-D" "[^"]*" *//; p}' "$1/postmaster.opts")
  for _ in 1 2 3 4 5 6; do # sessions of a server that was killed may hold its memory for some seconds
    "$program/pg_ctl" -D "$1" -w -t 3500 -l "$1/start.log" -o "$options" start >/dev/null </dev/null && return 0
    sleep 2
  done
  { echo "$1:"; tail -n 5 "$1/start.log"; } >&2
  return 1
}
all start
