# shellcheck shell=bash
# Waits for the jobs in one folder, and for steps in search of a load beside them, for some seconds each.
# Says the first that still runs then.
# Given: directory, the folder; probes, where below a job such a step is; wait_s.
: "${directory?}" "${probes?}" "${wait_s?}"
cd "$directory" 2>/dev/null || exit 0
for each in */ */"$probes"/; do
  [ ! -d "$each/started" ] || flock -s -w "$wait_s" "$each/lock" true || { echo "$each"; break; }
done
