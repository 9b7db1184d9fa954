# shellcheck shell=bash
# Says how the detached job of this folder is: "new", "running", or "ended" with what job_run.sh left in its file "status", if
# it left one. Given: within_s, for how long its end is waited for.
: "${within_s?}"
wait=(-n)  # older programs refuse to wait for 0 seconds
[ "$within_s" = 0 ] || wait=(-w "$within_s")
if [ ! -d started ]; then echo new
elif ! flock -s "${wait[@]}" lock true; then echo running
elif [ -e status ]; then echo "ended $(cat status)"
else echo ended; fi
