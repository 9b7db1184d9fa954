# shellcheck shell=bash
# Removes the notes whose holder is the one that is named, and says their names.
# Given: folder; notes, their names; holder, as a note has it: quoted; empty for whoever it is.
: "${folder?}" "${notes[@]?}" "${holder?}"
cd "$folder" || exit
for name in "${notes[@]}"; do
  [ -e "$name" ] || continue
  [ -z "$holder" ] || grep -qF -- "$holder" "$name" || continue
  rm -f -- "$name" 2>/dev/null || {
    echo "$folder/$name belongs to $(stat -c %U -- "$name"), who must remove it; or root" >&2
    exit 1
  }
  echo "$name"
done
