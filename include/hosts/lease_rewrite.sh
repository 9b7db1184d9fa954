# shellcheck shell=bash
# Has the notes of a holder say something else.
# Given: folder; notes, their names; holder, as a note has it: quoted; note, the text.
: "${folder?}" "${notes[@]?}" "${holder?}" "${note?}"
cd "$folder" || exit
for name in "${notes[@]}"; do
  if grep -qF -- "$holder" "$name" 2>/dev/null; then printf '%s\n' "$note" >"$name"; fi
done
