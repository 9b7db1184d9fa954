# shellcheck shell=bash
# What the notes say that are there.
# Given: folder; notes, their names.
: "${folder?}" "${notes[@]?}"
cd "$folder" || exit
for name in "${notes[@]}"; do
  [ -e "$name" ] || continue
  said=$(head -n 1 -- "$name")
  echo "$said" # also of one that is empty
done
