# shellcheck shell=bash
# Which psql and pgbench are used: by path, in an environment of their own. The login of a Greenplum has that one's old
# programs first on its PATH, and its libraries in LD_LIBRARY_PATH, with which a newer psql does not start.
unset LD_LIBRARY_PATH

# find_program NAME MAJOR: one of that version or newer: on PATH, else where packages have them, the newest first.
# Sets found, its path, and said, what it says of its version.
find_program() {
  local on_path places wrapper=/usr/share/postgresql-common/pg_wrapper
  on_path=$(type -P "$1") || true
  mapfile -t places < <(printf '%s\n' /usr/lib/postgresql/*/bin/"$1" /usr/pgsql-*/bin/"$1" | sort -Vr)
  # Debian's wrapper looks for the newest, too, and takes its time for that.
  if [[ $on_path -ef $wrapper ]]; then places+=("$on_path"); else places=("$on_path" "${places[@]}"); fi
  for found in "${places[@]}"; do
    [ -x "$found" ] || continue
    said=$("$found" --version 2>/dev/null) || continue
    if [[ $said =~ \)\ ([0-9]+) && ${BASH_REMATCH[1]} -ge $2 ]]; then return 0; fi
  done
  echo "$(uname -n): no $1 of version $2 or newer, neither on PATH nor below /usr/lib/postgresql or /usr/pgsql-*;" \
    "install a newer PostgreSQL client there" >&2
  return 1
}
