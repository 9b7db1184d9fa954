# shellcheck shell=bash
# Runs several drivers at the same time, each in a folder of its own. When the first has ended, the others are told that it
# is enough, and end. What they leave is named PART-FILE then, as their own files are that are given.
# Given: parts, their names, the first one first.
: "${parts[@]?}"

# shellcheck disable=SC2317  # the trap calls it
up() {
  local part file
  for part in "${parts[@]}"; do
    for file in "$part"/*; do
      if [ -f "$file" ] && [ ! -L "$file" ]; then mv -- "$file" "$part-${file##*/}"; fi
    done
  done
}

for part in "${parts[@]}"; do
  mkdir "$part"
  for file in "$part"-*; do ln -s "../$file" "$part/${file#*-}"; done
done
trap up EXIT
trap 'trap "" TERM; exit 143' TERM
declare -A pids
for part in "${parts[@]}"; do
  (cd "$part" && exec bash command.sh >stdout 2>stderr </dev/null) &
  pids[$part]=$!
done
status=0
wait "${pids[${parts[0]}]}" || { status=$?; head -n 3 "${parts[0]}/stderr" >&2; }
for part in "${parts[@]:1}"; do : >"$part/enough"; done
for part in "${parts[@]:1}"; do
  wait "${pids[$part]}" || { status=$?; echo "$part:" >&2; head -n 3 "$part/stderr" >&2; }
done
exit "$status"
