# shellcheck shell=bash
# Ask many daemons at once, and print of each answer the lines with any of the words that are wanted: "# URL …", all that
# answered alike, then their lines, each after a dash. Those that do not answer are left out. After ask.sh.
# Given: urls and wanted (may be none), ask_s (seconds for one).
declare -a urls wanted # may be none
: "${ask_s:?}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' ${wanted[@]+"${wanted[@]}"} >"$folder/wanted"
# one NUMBER URL: what is wanted of its answer into a file of that number
one() {
  ask --no-show-error --max-time "$ask_s" "$2" >"$folder/$1.answer" || return 0
  # A property a line, also where its value has several.
  { tr '\n' ' ' <"$folder/$1.answer" | sed 's/<property>/\n&/g' | grep -F -f "$folder/wanted" || true; } >"$folder/$1.kept"
  rm "$folder/$1.answer"
}
at_once=32
for n in "${!urls[@]}"; do
  one "$n" "${urls[n]}" &
  [ $(((n + 1) % at_once)) != 0 ] || wait
done
wait
declare -A alike=() example=()
for n in "${!urls[@]}"; do
  [ -e "$folder/$n.kept" ] || continue
  sum=$(cksum <"$folder/$n.kept")
  alike[$sum]="${alike[$sum]:-} ${urls[n]}"
  example[$sum]=$folder/$n.kept
done
for sum in ${alike[@]+"${!alike[@]}"}; do
  echo "#${alike[$sum]}"
  sed 's/^/- /' "${example[$sum]}"
done
