# shellcheck shell=bash
# Ends sysstat's collector and turns what it collected into JSON. After cgroups.sh and telemetry_follow.sh.
# Given: directory, where its files are; file, the JSON, compressed.
: "${directory?}" "${file?}"
cd "$directory" 2>/dev/null || exit 0
[ -e telemetry.pid ] || exit 0
throttled >telemetry.throttled_at_end
pid=$(cat telemetry.pid) costs='' follower_costs=''
if collects "$pid"; then
  if [ -e telemetry.follower ] && [ "/proc/$(cat telemetry.follower)/cwd" -ef . ]; then
    follower=$(cat telemetry.follower)
    # It looks once a second only; this is after the measured window.
    interrupts >>telemetry.interrupts || true
    if [ -e telemetry.cpu_used ] && cpu_limit; then cpu_used >>telemetry.cpu_used || true; fi
    read -r follower_costs <"/proc/$follower/stat" || true
    kill -TERM "$follower" || true
  fi
  # Wait for one more sample, which holds the end of the measured window, and for all of it: it is written in dozens
  # of pieces, after which the collector sleeps.
  size=$(stat -c %s telemetry.raw)
  for _ in {1..30}; do
    grown=$(stat -c %s telemetry.raw)
    read -r costs <"/proc/$pid/stat" || break
    if [ "$grown" != "$size" ] && [[ $costs == *') S '* ]]; then break; fi
    sleep 0.1
  done
  kill -TERM "$pid" || true  # at once, before it writes again: SIGINT would be heeded a second later
  printf '%s\n' "$costs" "$follower_costs" |
    awk -v ticks="$(getconf CLK_TCK)" '{s += $14 + $15} END {print s / ticks}' >telemetry.cpu_s
fi
LC_ALL=C sadf -j telemetry.raw -- -u ALL -d -n DEV -q ALL -r -w -b -W | gzip -1 >"$file"
rm -f telemetry.raw telemetry.pid telemetry.follower
