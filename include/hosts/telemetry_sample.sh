# shellcheck shell=bash
# Notes what a host's kernel counts, once a second, by bash alone: no program is started for a sample. Functions for a
# shell; after cgroups.sh.
# Given: proc and sys, the kernel's folders.
: "${proc?}" "${sys?}"

# A line of telemetry.counters: groups with tabs between them, each its name and what the kernel says, in the kernel's
# units. First the uptime. Every file is read all at once: what is read line by line, the kernel makes anew.
sample() {
  local up load name line lines words out
  read -r up _ <"$proc/uptime"; read -r load <"$proc/loadavg"
  out="$up"$'\t'"load $load"$'\tmemory'
  mapfile -t lines <"$proc/meminfo"
  for line in "${lines[@]}"; do
    case $line in
      MemTotal:* | MemFree:* | MemAvailable:* | Buffers:* | Cached:* | Slab:* | SwapTotal:* | SwapFree:* | \
        SwapCached:* | Active:* | Inactive:* | Dirty:* | Writeback:* | AnonPages:* | Committed_AS:*)
        line=${line% kB}; out+=" ${line%%:*} ${line##* }" ;;
    esac
  done
  mapfile -t lines <"$proc/stat"
  for line in "${lines[@]}"; do
    case $line in
      'cpu '*) out+=$'\tcpu'${line#cpu } ;;
      'intr '*) line=${line#intr }; out+=$'\t'"intr ${line%% *}" ;;  # of all lines and processors, which are thousands
      'ctxt '* | 'processes '* | 'procs_blocked '*) out+=$'\t'$line ;;
    esac
  done
  out+=$'\tvm'
  mapfile -t lines <"$proc/vmstat"
  for line in "${lines[@]}"; do
    case $line in
      'pgpgin '* | 'pgpgout '* | 'pswpin '* | 'pswpout '* | 'pgfault '* | 'pgmajfault '* | 'oom_kill '*) out+=" $line" ;;
    esac
  done
  name='' lines=()
  { mapfile -t lines <"$proc/net/snmp"; } 2>/dev/null || true
  for line in ${lines[@]+"${lines[@]}"}; do
    # shellcheck disable=SC2206  # into words, on purpose; follow has no patterns expanded
    words=($line)
    case $name$line in  # a line of names, then one of numbers
      Tcp:Tcp:*) out+=$'\t'"tcp sent ${words[11]} resent ${words[12]}" ;;
      Udp:Udp:*) out+=$'\t'"udp received ${words[1]} lost ${words[3]} sent ${words[4]}" ;;
    esac
    name=${line%% *}
  done
  out+=$'\tpressure'
  for name in cpu io memory; do
    { mapfile -t lines <"$proc/pressure/$name"; } 2>/dev/null || continue  # a kernel need not have it
    for line in ${lines[@]+"${lines[@]}"}; do out+=" ${name}_${line%% *} ${line##*total=}"; done
  done
  mapfile -t lines <"$proc/diskstats"
  for line in ${lines[@]+"${lines[@]}"}; do
    # shellcheck disable=SC2206  # into words, on purpose; follow has no patterns expanded
    words=($line) name=${words[2]}
    case ${is_disk[$name]-} in
      no) continue ;;
      '') is_disk[$name]=no
        case $name in loop* | ram* | zram*) continue ;; esac
        [ -e "$sys/block/${name//\//!}" ] || continue  # a partition
        is_disk[$name]=yes ;;
    esac
    [ "${words[3]}${words[7]}" = 00 ] || out+=$'\t'"disk $name ${words[*]:3}"
  done
  mapfile -t lines <"$proc/net/dev"
  for line in "${lines[@]:2}"; do
    name=${line%%:*}
    # shellcheck disable=SC2206  # as above
    words=(${line#*:})
    out+=$'\t'"net ${name##* } ${words[*]}"
  done
  echo "$out"
}

# Whether process $1 is the collector of this folder.
collects() { grep -q bash "/proc/$1/comm" 2>/dev/null && [ "/proc/$1/cwd" -ef . ]; }

# Of each function that is named, the file telemetry.<name>: the time, the uptime then, and the bytes of a page; after
# that, once a second, what it says. Ends after $1 seconds, when it is told to (by a signal; after one more sample), or
# when it finds no room. It leaves in telemetry.costs what it took of the processor.
# No process a second, and bash 4 does not know the time: hence the uptime, and a pipe, telemetry.wake. It waits on that,
# and whoever writes to it after the signal does not have to wait for the rest of the second.
follow() {
  local LC_ALL=C seconds=$1 pause up name second=0 told='' costs
  declare -A is_disk
  shift
  set -f
  trap 'told=1' TERM
  read -r up _ <"$proc/uptime"
  up="$(date +%s.%N) $up $(getconf PAGESIZE)"
  for name in "$@"; do echo "$up" >"telemetry.$name"; done
  rm -f telemetry.wake
  mkfifo telemetry.wake
  exec {pause}<>telemetry.wake
  while [ $((second++)) -lt "$seconds" ]; do
    for name in "$@"; do "$name" >>"telemetry.$name" || return; done
    [ -z "$told" ] || break
    read -r -t 1 -u "$pause" || true
  done
  read -r costs <"/proc/$BASHPID/stat"
  echo "$costs" >telemetry.costs
}
