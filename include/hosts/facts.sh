# shellcheck shell=bash
# What this host is: kernel files as they are, and what a few programs say. Read by clusterbench.hosts.facts_read.
# After cgroups.sh and drivers/programs.sh. Given: folders, whose file systems are told; the first is the work folder.
#
# "@FILE" or "@$NAME", then its lines, each behind a space. No root; what is not there is left out. Every program costs
# a fork on each of many hosts, so what bash can read itself it reads itself.
# shellcheck disable=SC2016  # "$NAME" is said as it is
: "${folders[@]?}"
set +eu +o pipefail
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
shopt -s nullglob

# told NAME LINES…
told() { printf '@%s\n' "$1"; shift; printf ' %s\n' "$@"; }

tell() {
  local file lines
  for file; do
    [[ -f $file && -r $file ]] && mapfile -t lines 2>/dev/null <"$file" && ((${#lines[@]})) && told "$file" "${lines[@]}"
  done
}

# tell_some FILE PATTERN…: the lines that match any
tell_some() {
  local file=$1 lines line pattern found=()
  shift
  [[ -r $file ]] && mapfile -t lines <"$file" || return
  for line in "${lines[@]}"; do
    # shellcheck disable=SC2053  # they are patterns
    for pattern; do [[ $line == $pattern ]] && { found+=("$line"); break; }; done
  done
  ((${#found[@]})) && told "$file" "${found[@]}"
}

# ask NAME COMMAND…: all it says, if it is there and succeeds
ask() {
  local said
  type -P "$2" >/dev/null && said=$(exec "${@:2}" 2>&1 </dev/null) && told "\$$1" "${said//$'\n'/$'\n '}"
}

# link NAME PATH: the last part of where a folder's link leads
link() { cd -P -- "$2" 2>/dev/null && told "$1" "${PWD##*/}"; cd - >/dev/null 2>&1 || true; }

at=$PWD
told '$bash' "$BASH_VERSION"
told '$machine_type' "$MACHTYPE"
tell /proc/sys/kernel/{hostname,osrelease,version,random/boot_id} /proc/cmdline /etc/os-release /usr/lib/os-release

# Processors: of /proc/cpuinfo the first one only, unless lscpu is not there to count them.
ask lscpu lscpu
while IFS= read -r line && [[ $line ]]; do
  case $line in
    'model name'* | microcode* | vendor_id*) told "/proc/cpuinfo ${line%%[[:space:]]*}" "${line#*: }" ;;
    flags*) if [[ "$line " == *' hypervisor '* ]]; then flag=yes; else flag=no; fi
      told '/proc/cpuinfo hypervisor' $flag ;;
  esac
done </proc/cpuinfo
type -P lscpu >/dev/null || tell_some /proc/cpuinfo 'processor*' 'physical id*' 'core id*'
tell_some /proc/self/status 'Cpus_allowed_list:*'
cpu=/sys/devices/system/cpu
tell $cpu/vulnerabilities/* $cpu/cpufreq/policy*/scaling_{governor,driver} $cpu/cpufreq/boost \
  $cpu/intel_pstate/no_turbo $cpu/smt/{active,control} $cpu/cpuidle/current_driver $cpu/cpu0/microcode/version \
  /sys/devices/system/clocksource/clocksource0/current_clocksource

tell_some /proc/meminfo 'MemTotal:*' 'SwapTotal:*' 'HugePages_Total:*' 'Hugepagesize:*'
for node in /sys/devices/system/node/node[0-9]*; do
  tell "$node/cpulist"
  tell_some "$node/meminfo" '*MemTotal:*'
done
tell /sys/kernel/mm/transparent_hugepage/{enabled,defrag} /proc/sys/vm/swappiness

# A device that is no file of the kernel's own has "device"; md and dm are made of others.
for disk in /sys/block/*; do
  name=${disk##*/}
  case $name in sr* | fd*) continue ;; esac
  [[ -e $disk/device || $name == md* || $name == dm-* ]] || continue
  tell "$disk"/{size,hidden,queue/{rotational,scheduler,read_ahead_kb},device/{vendor,model},dm/name,md/level}
  parts=("$disk"/slaves/*)
  ((${#parts[@]})) && told "$disk/slaves" "${parts[@]##*/}"
done

for nic in /sys/class/net/*; do
  [[ -d $nic ]] || continue
  tell "$nic"/{mtu,speed,operstate}
  [[ -e $nic/device ]] && { told "$nic/device" yes; link "$nic/driver" "$nic/device/driver"; }
done
cd "$at" || true

# The file system of each folder that is there, of the first (the work folder) else of what it will be made in: the
# longest mount point above it, the last of those mounted there.
mapfile -t mounts </proc/self/mountinfo
set -f
points=()
for mount in "${mounts[@]}"; do
  # shellcheck disable=SC2206  # it is split at blanks; set -f keeps it from being taken for patterns
  parts=($mount)
  printf -v "points[${#points[@]}]" %b "${parts[4]//\\/\\0}"
done
set +f
until [[ -d ${folders[0]} || ${folders[0]} != */* ]]; do folders[0]=${folders[0]%/*}; done
[[ -d ${folders[0]} ]] || folders[0]=$at
declare -A seen
for folder in "${folders[@]}"; do
  { cd "$at" && cd -P -- "$folder"; } 2>/dev/null || continue
  longest=-1 mounted=''
  for number in "${!points[@]}"; do
    point=${points[number]}
    [[ $PWD/ == "${point%/}"/* && ${#point} -ge $longest ]] && longest=${#point} mounted=${mounts[number]}
  done
  [[ $mounted && ! ${seen[$mounted]-} ]] || continue
  told '$mount' "$mounted"
  seen[$mounted]=yes
done
cd "$at" || true

# Virtual machine, container, and what the container may use of the processors that it sees.
tell /sys/class/dmi/id/{sys_vendor,product_name,product_version,bios_version,bios_date} /sys/hypervisor/type \
  /run/systemd/container /proc/1/cgroup
for file in /.dockerenv /run/.containerenv; do [[ -e $file ]] && told "$file" yes; done
type -P systemd-detect-virt >/dev/null && told '$container' "$(exec systemd-detect-virt --container 2>/dev/null)"
mapfile -t files < <(limits_of)
tell "${files[@]}"

# Whether anybody keeps the clock right.
[[ -e /run/systemd/timesync/synchronized ]] && told /run/systemd/timesync/synchronized yes
[[ -d /run/systemd/system ]] && ask timedatectl timeout 5 timedatectl show
type -P chronyc >/dev/null && ask chronyc timeout 5 chronyc -c -n tracking
type -P ntpq >/dev/null && ask ntpq timeout 5 ntpq -n -c rv

# Versions of what takes part. A JVM is dear to start; its folder says which it is.
ask glibc getconf GNU_LIBC_VERSION
ask coreutils df --version
ask util_linux fincore --version
ask openssl openssl version
for wanted in psql:12 pgbench:15; do # those that drivers use; else what there is
  if find_program "${wanted%:*}" "${wanted#*:}" 2>/dev/null; then told "\$${wanted%:*}" "$said"
  else ask "${wanted%:*}" "${wanted%:*}" --version; fi
done
ask pgbouncer pgbouncer --version
if type -P gpfdist >/dev/null; then
  library=$(type -P gpfdist)
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:${library%/*}/../lib ask gpfdist gpfdist --version
fi
if type -P java >/dev/null; then
  java=$(type -P java)
  java=$(exec readlink -f "$java")
  if [[ -r ${java%/bin/java}/release ]]; then tell_some "${java%/bin/java}/release" 'JAVA_*VERSION=*' 'IMPLEMENTOR=*'
  elif [[ -r ${java%/jre/bin/java}/release ]]; then tell_some "${java%/jre/bin/java}/release" 'JAVA_VERSION=*'
  else ask java java -version; fi
fi
exit 0
