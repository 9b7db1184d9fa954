# shellcheck shell=bash
# Note where the servers' logs end now. After postgres/instances.sh.
# Given: marks (the folder of the notes).
: "${marks:?}"

mkdir -p "$marks"
touch "$marks/logs.begun"
mark() {
  for log in "$1"/pg_log/*.csv "$1"/log/*.csv; do
    [ ! -e "$log" ] || stat -c '%s %n' "$log"
  done
}
all mark >"$marks/logs.marked"
