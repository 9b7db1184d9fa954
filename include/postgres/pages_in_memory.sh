# shellcheck shell=bash
# A function that tells how much of files is in the file system's cache.

# pages_in_memory DIRECTORY: of the files below it that are named on standard input, one a line, and of their parts, such
# as 16385.1, or 16385_pax/0: bytes in memory, and bytes in all. Names are looked up in their folders' lists: 300,000 of them are too many
# for a command line, and for patterns.
pages_in_memory() (
  cd "$1" || exit
  names=$(cat)
  mapfile -t folders < <(printf '%s\n' "$names" | sed 's:/[^/]*$::' | LC_ALL=C sort -u)
  find -L "${folders[@]}" -maxdepth 2 -type f -size +0 |
    awk 'NR == FNR { wanted[$0]; next } { name = $0; sub(/_pax\/[^\/]*$|[.][0-9]+$/, "", name) } name in wanted' \
      <(printf '%s\n' "$names") - |
    tr '\n' '\0' | xargs -0 -r fincore --bytes --raw --noheadings --output RES,SIZE |
    awk '{ memory += $1; all += $2 } END { printf "%.0f %.0f\n", memory, all }'
)
