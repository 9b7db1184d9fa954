# shellcheck shell=bash
# Runs a detached job once, in the job's folder, under its time limit; the exit status is written last.
# File descriptor 9 is the job's lock, inherited from whoever started this and by everything that is started here.
# Given: timeout_s; end_s, what the job may take to end after that; secrets, files to remove at the end.
: "${timeout_s?}" "${end_s?}" "${secrets[@]-}"
# Beside it: 1 where the limit was reached, which a status does not tell (124 and 137 may be a command's own); how many
# processes of this host the kernel has killed meanwhile for want of memory; by how many seconds its clock was set; 1
# where its disk was full at the end. Room for all that is taken beforehand.
uptime_s() { cut -d. -f1 /proc/uptime; }  # no clock is asked: it may be set
oom_kills() { awk '$1 == "oom_kill" { n = $2 } END { print n + 0 }' /proc/vmstat; }
begun_s=$(uptime_s) killed=$(oom_kills) clock_s=$(($(date +%s) - begun_s))
echo $$ >pid
printf '%128s\n' '' >status.new
date +%s.%N >began
trap 'rm -f -- "${secrets[@]}"' EXIT
timeout --kill-after="$end_s" "$timeout_s" bash command.sh >stdout 2>stderr </dev/null
status=$? reached=0
case $status in 124 | 137) [ $(($(uptime_s) - begun_s)) -lt "$timeout_s" ] || reached=1 ;; esac
full=0
[ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -ge 1024 ] || full=1
printf '%-128s\n' "$status $reached $(($(oom_kills) - killed)) $(($(date +%s) - $(uptime_s) - clock_s)) $full" 1<>status.new
mv status.new status
