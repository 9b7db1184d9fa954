# shellcheck shell=bash
# The end of each server's newest log. After instances.sh and engines/last_lines.sh.

excerpt() {
  local log logs
  cd "$1" || return # where its logs are by default; or elsewhere, which it notes from PostgreSQL 10 on
  [ ! -r current_logfiles ] || mapfile -t logs < <(sed 's/^[a-z]* //' current_logfiles)
  # shellcheck disable=SC2012  # by time, which find cannot do; the server names its logs
  log=$(ls -t ${logs[@]+"${logs[@]}"} pg_log/*.[cl]* log/*.[cl]* start.log 2>/dev/null | head -n 1) || true
  [ -z "$log" ] || last_lines "$log" "$log"
}
all excerpt
