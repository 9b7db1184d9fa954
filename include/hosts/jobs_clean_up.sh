# shellcheck shell=bash
# Asks every job below a folder that still runs to end, and removes the jobs that are named.
# Given: directory, the folder; beside, where below a job others are that belong to it; finished, the names.
: "${directory?}" "${beside?}" "${finished[@]-}"
cd "$directory" 2>/dev/null || exit 0
for job in */ */"$beside"/*/; do
  [ -e "$job/started" ] && ! flock -n -s "$job/lock" true && pkill -TERM -s "$(cat "$job/pid")"
done
rm -rf -- ${finished[@]+"${finished[@]}"}
rmdir -- "$PWD" 2>/dev/null || true
