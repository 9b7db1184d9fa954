# shellcheck shell=bash
# The limits of the control groups that the servers are in, as include/hosts/facts.sh tells those of the login. After
# cgroups.sh and instances.sh.

limits() {
  local file said
  for file in $(limits_of "$(head -n 1 "$1/postmaster.pid")"); do
    said=$(<"$file")
    printf '@%s\n %s\n' "$file" "${said//$'\n'/$'\n '}"  # of each disk a line
  done
}
all limits
printf '@/proc/meminfo\n %s\n' "$(grep '^MemTotal:' /proc/meminfo)"
