# shellcheck shell=bash
# Opens one session as a driver does, and says how it is. After programs.sh.
# Given: folder, with the password and certificates, which goes; where, options of psql.
: "${folder:?}" "${where[@]?}"
trap 'rm -rf -- "$folder"' EXIT
cd "$folder" || exit
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
PGPASSFILE=pgpass PGCONNECT_TIMEOUT=30 "$found" "${where[@]}" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
  --command='\conninfo'
