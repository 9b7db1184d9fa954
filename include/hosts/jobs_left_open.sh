# shellcheck shell=bash
# The names of the jobs in one folder that were started, and whose outcome nobody has recorded.
# Given: directory, the folder.
: "${directory?}"
cd "$directory" 2>/dev/null || exit 0
for job in */; do
  [ ! -d "$job/started" ] || [ -e "$job/recorded" ] || echo "${job%/}"
done
