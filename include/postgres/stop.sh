# shellcheck shell=bash
# Stop the servers, and wait until they have. After instances.sh.
: "${program:?}"

stop() {
  alive "$1" || return 0
  local unit
  unit=$(owner_of "$1")
  [ -z "$unit" ] || { echo "$1: belongs to the unit $unit, and is not stopped behind its back" >&2; return 1; }
  "$program/pg_ctl" -D "$1" -m fast -w -t 3500 stop >/dev/null
}
all stop
