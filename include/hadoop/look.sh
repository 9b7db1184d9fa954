# shellcheck shell=bash
# A line for each daemon that runs: its kind, and since when, in epoch seconds. After daemons.sh.
# Given: kinds.
: "${kinds:?}"

hertz=$(getconf CLK_TCK)
booted=$(awk '/^btime/ {print $2}' /proc/stat)
look() {
  ! alive "$1" || printf '%s\t%s\n' "$1" "$(awk -v booted="$booted" -v hertz="$hertz" \
    '{sub(/^.*\) /, ""); printf "%d", booted + $20 / hertz}' "/proc/$(cat "$1.pid")/stat")"
}
for kind in "${kinds[@]}"; do look "$kind"; done
