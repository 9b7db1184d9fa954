# shellcheck shell=bash
# Starts the collector, once a second, in the background; does nothing where it runs already. After cgroups.sh and
# telemetry_sample.sh.
# Given: directory, where its files go; seconds, after which it ends by itself.
: "${directory?}" "${seconds?}"
mkdir -p "$directory"
cd "$directory" || exit
if [ -e telemetry.pid ]; then
  if collects "$(cat telemetry.pid)"; then exit 0; fi
  rm -f telemetry.*  # of one that has ended, such as for want of room on its disk: no driver has been started since
fi
throttled >telemetry.throttled_at_start
cpus >telemetry.cpus
cat /proc/sys/kernel/random/boot_id >telemetry.boot
followed=(sample)
# shellcheck disable=SC2154  # cpu_limit sets used
if cpu_limit && [ -r "$used" ]; then followed+=(cpu_used); fi
set -m  # its own process group
follow "$seconds" "${followed[@]}" >/dev/null 2>&1 </dev/null &
started=$!
trap '[ $? = 0 ] || { kill -KILL "$started" || true; rm -f telemetry.pid; }' EXIT  # no collector that nobody knows of
echo "$started" >telemetry.pid
