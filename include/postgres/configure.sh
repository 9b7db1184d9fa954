# shellcheck shell=bash
# Have exactly these settings in our block of each server's configuration file. After instances.sh.
# Given: wanted (the block, or nothing), config_file (of the only server; empty: each has its own beside its data),
# replaced (a pattern of the first line of a block that may be taken out).
# Prints the names of the settings that were in the block before, and "changed" for a file that was changed.
#
# The block is at the file's end, where the last word is. The new file takes the old one's place when the server has
# read it without a complaint, so a value that it refuses never keeps it from starting.
: "${program:?}" "${wanted?}" "${config_file?}" "${replaced:?}"

configure() {
  local file new
  file=$config_file
  file=$(readlink -f "${file:-$1/postgresql.conf}")
  new=$file.clusterbench
  grep -q "$replaced" "$file" || [ -n "$wanted" ] || return 0
  sed -n '/^# clusterbench begin/,/^# clusterbench end/ s/^\([a-z0-9_.]*\) = .*/\1/p' "$file"
  cp -p "$file" "$new"
  # shellcheck disable=SC1003  # the backslash is sed's: it ends the last line, if nothing does
  { sed '/^# clusterbench begin/,/^# clusterbench end/d; $a\' "$file"; printf %s "$wanted"; } >"$new"
  "$program/postgres" -D "$1" --config-file="$new" -C port >/dev/null || { rm -f "$new"; return 1; }
  if cmp -s "$new" "$file"; then rm -f "$new"; else mv "$new" "$file"; echo changed; fi
}
all configure
