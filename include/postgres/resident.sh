# shellcheck shell=bash
# A line for each instance: bytes of the database's files that are in the file system's cache. After instances.sh.
# Given: database_oid (the name of the database's folder).
: "${database_oid:?}"

# A temporary file may be gone before it is looked at; one that may not be read would pass for empty.
resident() {
  cd "$1" || return
  command -v fincore >/dev/null || { echo "fincore is not there (Debian package util-linux-extra)" >&2; return 1; }
  { find -L "base/$database_oid" global pg_tblspc -type f -size +0 -print0 |
    LC_ALL=C xargs -0 fincore --bytes --raw --noheadings --output RES 2>&1 || true; } |
    awk '/^ *[0-9]+ *$/ {bytes += $1; next} /No such file/ {next} {print >"/dev/stderr"; wrong = 1}
      END {printf "%.0f\n", bytes; exit wrong}'
}
all resident
