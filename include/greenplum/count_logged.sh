# shellcheck shell=bash
# A number for each log: the lines that match, of those that it got since mark_logs.sh. After postgres/instances.sh.
# Given: marks (the folder of the notes), pattern (an extended regular expression).
: "${marks:?}" "${pattern:?}"

count() {
  local log from
  for log in "$1"/pg_log/*.csv "$1"/log/*.csv; do # only what was written since: old logs are large
    [ "$log" -nt "$marks/logs.begun" ] || continue
    from=$(awk -v file="$log" 'substr($0, index($0, " ") + 1) == file {print $1}' "$marks/logs.marked")
    tail -c "+$((${from:-0} + 1))" "$log" | grep -cE "$pattern" || true
  done
}
[ -e "$marks/logs.marked" ] || { echo "$marks: nobody noted where the logs ended before" >&2; exit 1; }
all count
