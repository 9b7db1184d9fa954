# shellcheck shell=bash
# Starts the detached job of this folder, unless it was started before.
# Of all callers only one makes the folder "started"; its files become the job's, so that no other caller writes over a
# script that runs. The lock is taken before that, and is handed down to the job as file descriptor 9: nobody ever sees a
# job that is started but not locked.
# Given: files, the folder of the caller's own with run.sh and what that needs.
: "${files?}"
trap 'rm -rf -- "$files"' EXIT
[ -d started ] && exit 0
exec 9>lock
flock -w 30 9
mkdir started 2>/dev/null || exit 0
mv -- "$files"/* .
setsid ./run.sh >/dev/null 2>&1 </dev/null &
