# shellcheck shell=bash
# Starts sysstat's collector, once a second, in the background; does nothing where it runs already. After cgroups.sh
# and telemetry_follow.sh.
# Given: directory, where its files go; samples, after which it ends by itself.
: "${directory?}" "${samples?}"
mkdir -p "$directory"
cd "$directory" || exit
if [ -e telemetry.pid ]; then
  if collects "$(cat telemetry.pid)"; then exit 0; fi
  rm -f telemetry.*  # of one that has ended, such as for want of room on its disk: no driver has been started since
fi
collector=$(PATH=$PATH:/usr/lib/sysstat:/usr/lib64/sa:/usr/lib/sa command -v sadc) || {
  echo 'sadc not found: install the package sysstat' >&2; exit 1; }
set -m  # its own process group, and SIGINT not ignored, as it is for ordinary background processes
nohup "$collector" -F -S DISK 1 "$samples" telemetry.raw >/dev/null 2>&1 </dev/null &
started=$!
trap '[ $? = 0 ] || { kill "$started" || true; rm -f telemetry.pid; }' EXIT  # no collector that nobody knows of
echo "$started" >telemetry.pid
date +%s.%N >telemetry.start
throttled >telemetry.throttled_at_start
cpus >telemetry.cpus
followed=(interrupts)
# shellcheck disable=SC2154  # cpu_limit sets used
if cpu_limit && [ -r "$used" ]; then followed+=(cpu_used); fi
follow "$(cat telemetry.pid)" "$samples" "${followed[@]}" >/dev/null 2>&1 </dev/null &
echo $! >telemetry.follower
cat /proc/sys/kernel/random/boot_id >telemetry.boot
