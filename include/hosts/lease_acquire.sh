# shellcheck shell=bash
# Takes a cluster for the holder in the note, as far as nobody has it. A line for each: the note's name, "made" or
# "there", and what it says then. A note is made whole or not at all, and only one caller can make it.
# Given: folder; notes, their names; note, the text.
: "${folder?}" "${notes[@]?}" "${note?}"
cd "$folder" || exit
new=$(mktemp clusterbench.new.XXXXXX)
trap 'rm -f -- "$new"' EXIT
printf '%s\n' "$note" >"$new"
chmod 644 "$new"
for name in "${notes[@]}"; do
  how=there
  ln -- "$new" "$name" 2>/dev/null && how=made
  touch -c -- "$name" 2>/dev/null || true # who cleans such folders looks at the time
  echo "$name $how $(head -n 1 -- "$name" 2>/dev/null)"
done
