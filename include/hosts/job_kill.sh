# shellcheck shell=bash
# Ends the detached job of this folder and all of its session: asked first, killed when it still runs after end_s.
# Given: end_s.
: "${end_s?}"
if ! flock -n -s lock true; then
  pkill -TERM -s "$(cat pid)" || true
  flock -s -w "$end_s" lock true || pkill -KILL -s "$(cat pid)" || true
fi
