# shellcheck shell=bash
# Samples what every processor of this host runs, in the background, beside the collector; does nothing where one does
# already. After telemetry_start.sh, in its folder.
# Given: rate_hz; seconds, after which it ends by itself; bytes, after which it ends as well.
: "${rate_hz?}" "${seconds?}" "${bytes?}"
# Only perf itself runs as root, with arguments that sudoers names exactly; what it says goes into a file of the login's.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
if [ ! -e profile/pid ]; then
  mkdir -p profile
  cd profile || exit
  rm -f go
  mkfifo go
  # perf ends with cat, and cat when nobody holds the pipe open: no right to signal root's processes is needed.
  sleep "$seconds" 2>/dev/null >go &
  echo $! >pid
  {
    as_root /usr/bin/perf record -q -e cpu-clock -F "$rate_hz" -k CLOCK_REALTIME -a -g -o - -- cat <go 2>../telemetry.profile_errors |
      head -c "$bytes" >data
    touch ended
  } </dev/null >/dev/null 2>&1 &
  # perf first notes what every process has loaded, and then starts cat and samples. Where it cannot be seen, it is not
  # waited for longer.
  for _ in {1..100}; do
    if [ -e ended ] || pgrep -g $! -x cat >/dev/null 2>&1; then break; fi
    sleep 0.1
  done
  cd ..
fi
