# shellcheck shell=bash
# Ends what looks at the database's sessions. After telemetry_stop.sh, in its folder, if that is there.
if [ -e watch/pid ]; then
  pid=$(cat watch/pid)
  if [ "$pid" ] && [ "/proc/$pid/cwd" -ef watch ]; then kill -TERM "$pid" || true; fi
  rm -rf watch
  [ ! -e telemetry.watch ] || gzip -1 -f telemetry.watch
fi
