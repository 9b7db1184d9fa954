# shellcheck shell=bash
# A function that makes one file whole or not at all, for a shell with "set -euo pipefail" that makes one file.

# make NAME COMMAND…: what the command says becomes the file; NAME.facts are its lines, bytes and SHA-256.
# Where ``disk`` names a folder, the file is there, and NAME leads to it.
make() {
  local name=$1 there=${disk:-.}
  mkdir -p "$there"
  new=$there/$1.$$
  shift
  [ ! -e "$name.facts" ] || return 0
  trap 'rm -f "$new" "$new.sum"' EXIT
  "$@" | tee "$new" | sha256sum >"$new.sum"
  echo "$(wc -lc <"$new") $(cut -d ' ' -f 1 "$new.sum")" >"$new.facts"
  mv "$new" "$there/$name"
  [ "$there" = . ] || ln -sfn "$there/$name" "$name"
  mv "$new.facts" "$name.facts"
}
