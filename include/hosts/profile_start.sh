# shellcheck shell=bash
# Samples what every processor of this host runs, in the background, beside the collector; does nothing where one does
# already. After telemetry_start.sh, in its folder, and as_root.sh.
# Given: record, perf's words; seconds, after which it ends by itself; bytes, after which it ends as well.
: "${record[@]?}" "${seconds?}" "${bytes?}"
# Only perf itself runs as root, with words that sudoers names exactly; what it says goes into a file of the login's.
if [ ! -e profile/pid ]; then
  mkdir -p profile
  cd profile || exit
  rm -f go
  mkfifo go
  # perf ends with cat, and cat when nobody holds the pipe open: no right to signal root's processes is needed.
  sleep "$seconds" 2>/dev/null >go &
  echo $! >pid
  {
    as_root "${record[@]}" <go 2>../telemetry.profile_errors | head -c "$bytes" >data
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
