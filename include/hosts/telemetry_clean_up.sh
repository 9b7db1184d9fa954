# shellcheck shell=bash
# Ends the collectors, what looks at sessions, and what samples processors, that a lost worker left behind, and removes a
# folder with all that was collected.
# Given: directory, in which every trial has a folder.
: "${directory?}"
cd "$directory" 2>/dev/null || exit 0
for file in */telemetry.pid */watch/pid */profile/pid; do
  [ -e "$file" ] || continue
  pid=$(cat "$file")
  # Of this folder: its number may be somebody else's by now.
  if [ "$pid" ] && [ "/proc/$pid/cwd" -ef "${file%/*}" ]; then kill -KILL "$pid" || true; fi
done
here=$PWD
cd ..
rm -rf -- "$here"
