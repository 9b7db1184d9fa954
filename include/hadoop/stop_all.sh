# shellcheck shell=bash
# End the daemons of every deployment in a work folder.
# Given: work (the folder).
: "${work:?}"

cd "$work" || exit
for each in hadoop.*/*.pid; do
  [ -e "$each" ] || continue
  pid=$(cat "$each")
  words=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) || continue
  [[ $words == *-Dclusterbench.daemon=* ]] || continue
  # shellcheck disable=SC2015  # one that has ended meanwhile is no failure
  kill "$pid" && echo "$pid" || true
done | while read -r pid; do
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  ! kill -0 "$pid" 2>/dev/null || kill -KILL "$pid"
done
rm -f hadoop.*/*.pid
