# shellcheck shell=bash
# Notes what sysstat's collector does not tell, or not cheaply, once a second. Functions for a shell; after cgroups.sh.

# The machine's uptime, and how many interrupts it has served by then. sysstat (from 12.5.6 on) keeps them for each
# processor, which is gigabytes an hour on a large host. All at once: what is read line by line, the kernel makes anew.
interrupts() {
  local up line lines
  read -r up _ </proc/uptime; mapfile -t lines </proc/stat
  for line in "${lines[@]}"; do
    case $line in 'intr '*) line=${line#intr }; echo "$up ${line%% *}"; break ;; esac
  done
}

# Whether process $1 is the collector of this folder.
collects() { grep -q sadc "/proc/$1/comm" 2>/dev/null && [ "/proc/$1/cwd" -ef . ]; }

# Of each function that is named, the file telemetry.<name>: the time, and the uptime then; after that, once a second,
# what it says. Ends with process $1, or after $2 seconds.
# No process a second, and bash 4 does not know the time: hence the uptime, and a pipe that nobody writes to.
follow() {
  local process=$1 seconds=$2 pause up name what second=0
  shift 2
  read -r up _ </proc/uptime
  up="$(date +%s.%N) $up"
  for name in "$@"; do echo "$up" >"telemetry.$name"; done
  exec {pause}<> <(:)
  while [ $((second++)) -lt "$seconds" ] && IFS= read -r -d '' what <"/proc/$process/cmdline" && [ "$what" ]; do
    for name in "$@"; do "$name" >>"telemetry.$name"; done
    read -r -t 1 -u "$pause" || true
  done
}
