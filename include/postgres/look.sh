# shellcheck shell=bash
# A line for each server that runs: data directory, start in epoch seconds, and whether it answers; one that is stopped
# by a signal (SIGSTOP) is frozen, any other that does not may be slow. After instances.sh.
# Given: ready_s (what a server may take to answer).
: "${program:?}" "${ready_s:?}"

look() {
  alive "$1" || return 0
  local said=answers pid started port socket address
  { read -r pid; read -r _; read -r started; read -r port; read -r socket; read -r address || true; } \
    <"$1/postmaster.pid" || true
  case ${address:=localhost} in '*' | 0.0.0.0 | ::) address=localhost ;; esac
  # It needs no login. A frozen server still has its connections accepted, by the kernel, and then says nothing.
  [ -z "$port" ] || [ ! -x "$program/pg_isready" ] ||
    "$program/pg_isready" -q -t "$ready_s" -h "${socket:-$address}" -p "$port" || [ $? -ne 2 ] || said=silent
  [ $said = answers ] || ! grep -q '^State:[[:space:]]*[Tt]' "/proc/$pid/status" 2>/dev/null || said=frozen
  printf '%s\t%s\t%s\n' "$1" "$started" "$said"
}
all look
