# shellcheck shell=bash
# last_lines TITLE FILE: the end of a log, for an error. Given: line_count.
: "${line_count:?}"
last_lines() { echo "$1:"; tail -n "$line_count" "$2" | cut -c 1-400; }
