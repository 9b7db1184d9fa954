# shellcheck shell=bash
# Has a psql of its own look at the database's sessions again and again, in the background, beside the collector; does
# nothing where one does already. After telemetry_start.sh, in its folder, and drivers/programs.sh.
# Given: names and contents, of files with password and certificates; where, options of psql; query, what is asked;
# every_s, the time between two looks; limit_s, after which it ends by itself.
: "${names[@]?}" "${contents[@]?}" "${where[@]?}" "${query?}" "${every_s?}" "${limit_s?}"
if [ ! -e watch/pid ] && find_program psql 12 2>telemetry.watch_errors; then
  mkdir -p watch
  chmod 700 watch
  for n in "${!names[@]}"; do
    printf '%s' "${contents[n]}" >"watch/${names[n]}"
    chmod 600 "watch/${names[n]}"
  done
  printf '%s\n\\watch %s\n' "$query" "$every_s" >watch/watch.sql
  cd watch || exit
  # shellcheck disable=SC2154  # find_program sets found
  PGPASSFILE=pgpass PGCONNECT_TIMEOUT=10 timeout "$limit_s" "$found" "${where[@]}" --no-psqlrc --quiet --no-align --tuples-only \
    --field-separator=$'\t' --set=ON_ERROR_STOP=1 --file=watch.sql >../telemetry.watch 2>../telemetry.watch_errors \
    </dev/null &
  echo $! >pid
  cd ..
fi
