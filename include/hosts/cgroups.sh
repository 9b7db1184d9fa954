# shellcheck shell=bash
# What a host's control groups (cgroups, version 1 or 2) limit: functions for a shell, also one under "set -euo pipefail".
# A VM of the lab, or a container, is a group of processes with such limits.

# control_group CONTROLLER [PROCESS]: the login's group of processes, or that of a process, as far as a controller of the
# kernel, such as cpu, limits it. Sets root, the folder of that controller's groups; group, the path below it, without a
# slash at its end; and listed, the path as the kernel lists it. False where there are no groups.
control_group() {
  local controllers path
  root='' listed=''
  while IFS=: read -r _ controllers path; do
    case ,$controllers, in
      *,"$1",*) root=/sys/fs/cgroup/$1 listed=$path ;;
      ,,) [ "$root" ] || root=/sys/fs/cgroup listed=$path ;;  # version 2 has all controllers in one place
    esac
  done <"/proc/${2:-self}/cgroup"
  # Beside version 1, version 2 is here.
  [ "$root" != /sys/fs/cgroup ] || [ ! -d /sys/fs/cgroup/unified ] || root=/sys/fs/cgroup/unified
  group=$listed
  [ -d "$root$group" ] || group=''  # a container may see its own group as the root
  group=${group%/}
  [ "$root" ]
}

# limits_of [PROCESS]: the files of that group and of those above it that have a limit in them.
limits_of() {
  local root group listed controller file
  for controller in cpu memory blkio; do
    control_group $controller "${1:-self}" || continue
    while :; do
      for file in "$root$group"/{cpu.max,cpu.cfs_quota_us,cpu.cfs_period_us,memory.max,memory.limit_in_bytes} \
        "$root$group"/{io.max,blkio.throttle.read_bps_device}; do
        [ ! -r "$file" ] || echo "$file"
      done
      [ "$group" ] || break
      group=${group%/*}
    done
  done
}

# Microseconds for which the login's group of processes stood still at its own CPU limit, and for which groups above it
# did at theirs, summed over processors; how many these are; the time. Nothing where there are no groups.
throttled() {
  local root group listed name value sum own='' above=0
  control_group cpu || return 0
  while [ -r "$root$group/cpu.stat" ]; do
    sum=0
    while read -r name value; do
      case $name in throttled_time) sum=$((value / 1000)) ;; throttled_usec) sum=$value ;; esac
    done <"$root$group/cpu.stat"
    if [ -z "$own" ]; then own=$sum; else above=$((above + sum)); fi
    [ "$group" ] || break
    group=${group%/*}
  done
  [ -z "$own" ] || echo "$own $above $(nproc) $(date +%s.%N)"
}

# Of the nearest group around the login that has a limit: quota and period, which are the limit; used, the file whose
# first line ends with what it used; unit, how much of that is a second. False where nothing limits it.
cpu_limit() {
  local root group listed accounts
  control_group cpuacct || return 1
  accounts=$listed
  control_group cpu
  while quota=-1 period=1; do
    if [ -r "$root$group/cpu.max" ]; then
      read -r quota period <"$root$group/cpu.max"
    elif [ -r "$root$group/cpu.cfs_quota_us" ]; then
      read -r quota <"$root$group/cpu.cfs_quota_us"; read -r period <"$root$group/cpu.cfs_period_us"
    fi
    case $quota in max | -1) ;; *) break ;; esac
    [ "$group" ] || return 1
    group=${group%/*}
  done
  if [ -r "$root$group/cpu.max" ]; then used=$root$group/cpu.stat unit=1000000
  elif [ "$accounts" = "$listed" ]; then used=/sys/fs/cgroup/cpuacct$group/cpuacct.usage unit=1000000000
  else used=/none unit=1000000000; fi  # its time is counted in another group than the one with the limit
}

# Processors of the machine; where there is a limit, that, and the unit of what is used.
cpus() {
  local quota period used unit
  if cpu_limit; then echo "$(getconf _NPROCESSORS_ONLN) $quota $period $unit"; else getconf _NPROCESSORS_ONLN; fi
}

# The machine's uptime, and what the group of cpu_limit has used by then.
cpu_used() {
  local up words
  read -r up _ </proc/uptime; read -r -a words <"$used"
  echo "$up ${words[-1]}"
}
