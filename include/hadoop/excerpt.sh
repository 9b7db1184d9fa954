# shellcheck shell=bash
# The end of each daemon's logs. After daemons.sh and engines/last_lines.sh.
# Given: kinds.
: "${kinds:?}"

for kind in "${kinds[@]}"; do
  for file in "logs/$kind.out" "logs/$kind.log"; do
    [ ! -s "$file" ] || last_lines "$kind, $file" "$file"
  done
done
