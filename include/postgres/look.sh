# shellcheck shell=bash
# A line for each server that runs: data directory, start in epoch seconds, and whether it answers; one that is stopped
# by a signal (SIGSTOP) is frozen, any other that does not may be slow. After instances.sh.
# Given: ready_s (what a server may take to answer).
: "${program:?}" "${ready_s:?}"

look() {
  alive "$1" || return 0
  local said=answers pid started
  { read -r pid; read -r _; read -r started; } <"$1/postmaster.pid" || true
  asked "$1" "$ready_s" || [ $? -ne 2 ] || said=silent
  [ $said = answers ] || ! grep -q '^State:[[:space:]]*[Tt]' "/proc/$pid/status" 2>/dev/null || said=frozen
  printf '%s\t%s\t%s\n' "$1" "$started" "$said"
}
all look
