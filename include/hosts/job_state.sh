# shellcheck shell=bash
# Says how the detached job of this folder is: "new", "running", or "ended" with what job_run.sh left in its file "status", if
# it left one.
if [ ! -d started ]; then echo new
elif ! flock -n -s lock true; then echo running
elif [ -e status ]; then echo "ended $(cat status)"
else echo ended; fi
