# shellcheck shell=bash
# Runs a detached job once, in the job's folder, under its time limit; the exit status is written last.
# File descriptor 9 is the job's lock, inherited from whoever started this and by everything that is started here.
# Given: timeout_s; end_s, what the job may take to end after that; secrets, files to remove at the end.
: "${timeout_s?}" "${end_s?}" "${secrets[@]-}"
echo $$ >pid
date +%s.%N >began
trap 'rm -f -- "${secrets[@]}"' EXIT
timeout --kill-after="$end_s" "$timeout_s" bash command.sh >stdout 2>stderr </dev/null
echo $? >status.new
mv status.new status
