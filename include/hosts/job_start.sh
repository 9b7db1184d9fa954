# shellcheck shell=bash
# Starts the detached job of this folder, whose run.sh is there, unless it was started before.
# Of all callers only one makes the folder "started". The lock is taken before that, and is handed down to the job as
# file descriptor 9: nobody ever sees a job that is started but not locked.
[ -d started ] && exit 0
exec 9>lock
flock -w 30 9
mkdir started 2>/dev/null || exit 0
setsid ./run.sh >/dev/null 2>&1 </dev/null &
