# shellcheck shell=bash
# End what is left of servers that do not answer or were killed. After instances.sh.
: "${program:?}"

end() {
  local pids unit
  unit=$(owner_of "$1")
  [ -z "$unit" ] || { echo "$1: belongs to the unit $unit, and is not ended behind its back" >&2; return 1; }
  mapfile -t pids < <(processes_of "$1")
  [ ${#pids[@]} -gt 0 ] || return 0
  kill -CONT "${pids[@]}" 2>/dev/null || true
  ! alive "$1" || "$program/pg_ctl" -D "$1" -m immediate -w -t 20 stop >/dev/null 2>&1 || true
  mapfile -t pids < <(processes_of "$1")
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true
  wait_until_gone "$1" 5 processes processes_of
}
all end
