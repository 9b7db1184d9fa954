# shellcheck shell=bash
# Stop the servers, and wait until they have. After instances.sh.
: "${program:?}"

stop() {
  alive "$1" || return 0
  "$program/pg_ctl" -D "$1" -m fast -w -t 300 stop >/dev/null
}
all stop
