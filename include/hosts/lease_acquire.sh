# shellcheck shell=bash
# Takes a cluster for the holder in the note, unless somebody has it, and says the note of whoever has it then.
# Only one caller can make the lease's folder.
# Given: directory, the work folder; lease, a folder in it; note.
: "${directory?}" "${lease?}" "${note?}"
mkdir -p "$directory"
cd "$directory" || exit
if mkdir "$lease" 2>/dev/null; then printf %s "$note" >"$lease/holder"; fi
cat "$lease/holder" 2>/dev/null || true
