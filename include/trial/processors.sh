# shellcheck shell=bash
# What a host's processors have done since its start. After cgroups.sh, whose functions have the first two lines.
# Says: the processors; what the host's group of processes has used, an empty line where nothing limits it; uptime,
# ticks a second, and the machine's line of /proc/stat.
cpus
# shellcheck disable=SC2154  # cpu_limit sets used
if ! cpu_limit; then
  echo
elif [ -r "$used" ]; then
  cpu_used
else
  echo "the system does not tell what processor time this host used: $used cannot be read" >&2
  exit 1
fi
read -r up _ </proc/uptime
read -r cpu </proc/stat
echo "$up $(getconf CLK_TCK) $cpu"
