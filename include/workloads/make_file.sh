# shellcheck shell=bash
# A function that makes one file whole or not at all, for a shell with "set -euo pipefail" that makes one file.

# make NAME COMMAND…: what the command says becomes the file; NAME.facts are its lines, bytes and SHA-256.
make() {
  local name=$1
  new=$1.$$
  shift
  [ ! -e "$name.facts" ] || return 0
  trap 'rm -f "$new" "$new.sum"' EXIT
  "$@" | tee "$new" | sha256sum >"$new.sum"
  echo "$(wc -lc <"$new") $(cut -d ' ' -f 1 "$new.sum")" >"$new.facts"
  mv "$new" "$name"
  mv "$new.facts" "$name.facts"
}
