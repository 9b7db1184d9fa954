# shellcheck shell=bash
# What scripts for a host's instances call. After installation.sh.
# Given: data_directories (of the instances on this host, at least one).
: "${data_directories:?}"

# all FUNCTION: run it for every data directory, all at once; fails if it failed for one.
all() {
  local status=0 pids=() each
  for each in "${data_directories[@]}"; do
    "$1" "$each" &
    pids+=("$!")
  done
  for each in "${pids[@]}"; do wait "$each" || status=1; done
  return $status
}

# alive DIRECTORY: a server that was killed is none, though its number may be taken for a while: by its remains, or by
# another process.
alive() {
  local pid
  pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) && [ -n "$pid" ] &&
    awk '/^Name:/ {name = $2} /^State:/ {state = $2} END {exit name != "postgres" || state == "Z"}' \
      "/proc/$pid/status" 2>/dev/null
}

# accepts DIRECTORY: whether its server takes sessions. From version 10 on it says so itself, as pg_ctl reads it.
accepts() {
  alive "$1" || return 1
  case $(sed -n 8p "$1/postmaster.pid" 2>/dev/null) in
    ready* | standby*) return 0 ;;
    '') asked "$1" 3 ;;
    *) return 1 ;;
  esac
}

# asked DIRECTORY SECONDS: 0: its server takes sessions, or nobody can ask; 1: it does not yet; 2: it says nothing.
asked() {
  local port socket address
  { read -r _; read -r _; read -r _; read -r port; read -r socket; read -r address || true; } <"$1/postmaster.pid" || true
  case ${address:=localhost} in '*' | 0.0.0.0 | ::) address=localhost ;; esac
  # It needs no login. A frozen server still has its connections accepted, by the kernel, and then says nothing.
  [ -n "$port" ] && [ -x "${program:?}/pg_isready" ] || return 0
  "$program/pg_isready" -q -t "$2" -h "${socket:-$address}" -p "$port"
}

# unit_of PROCESS: the unit of the service manager that a process belongs to, as its control group names it: the
# innermost. What a login has started is in a scope, also where that is within a unit for the user.
unit_of() {
  grep -E '^(0:|[0-9]+:name=systemd):' "/proc/$1/cgroup" 2>/dev/null | tr / '\n' |
    awk '/[.](service|scope)$/ {unit = $0} END {if (unit ~ /[.]service$/) print unit}'
}

# owner_of DIRECTORY: the unit that the server belongs to, where that is not this login's own.
owner_of() {
  local unit
  unit=$(unit_of "$(head -n 1 "$1/postmaster.pid" 2>/dev/null || echo none)")
  [ "$unit" = "$(unit_of self)" ] || echo "$unit"
}

# processes_of DIRECTORY: numbers of all processes of its server, which all work in its data directory.
processes_of() {
  local pid
  for pid in $(pgrep -x -u "$(id -u)" postgres || true); do
    [ "$(readlink "/proc/$pid/cwd")" != "$(readlink -f "$1")" ] || echo "$pid"
  done
}

# wait_until_gone DIRECTORY SECONDS WHAT LISTER: until the function LISTER has no process of it any more. WHAT they are is
# said where some are left.
wait_until_gone() {
  local left
  for _ in $(seq $((10 * $2))); do
    left=$("$4" "$1")
    [ -n "$left" ] || return 0
    sleep 0.1
  done
  echo "$1: these $3 cannot be ended: $(echo "$left" | tr '\n' ' ')" >&2
  return 1
}
