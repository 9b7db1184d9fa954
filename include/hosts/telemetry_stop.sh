# shellcheck shell=bash
# Ends the collector and compresses what it collected. After cgroups.sh and telemetry_sample.sh.
# Given: directory, where its files are.
: "${directory?}"
cd "$directory" 2>/dev/null || exit 0
[ -e telemetry.pid ] || exit 0
throttled >telemetry.throttled_at_end
pid=$(cat telemetry.pid)
if collects "$pid"; then
  kill -TERM "$pid" || true  # it takes one more sample, which holds the end of the measured window
  [ ! -p telemetry.wake ] || echo 1<>telemetry.wake  # opened for both, so that nobody has to read it
  for _ in {1..250}; do collects "$pid" || break; sleep 0.02; done
  ! collects "$pid" || kill -KILL "$pid" || true
fi
[ ! -e telemetry.costs ] ||
  awk -v ticks="$(getconf CLK_TCK)" '{ print ($14 + $15) / ticks }' telemetry.costs >telemetry.cpu_s
[ ! -e telemetry.sample ] || gzip -1 -f telemetry.sample
rm -f telemetry.pid telemetry.costs telemetry.wake
