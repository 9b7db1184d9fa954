# shellcheck shell=bash
# Says of every load file its name, its facts as it was made, and its lines, bytes and SHA-256 now. All of them at once.
# Given: directory, where the files are.
: "${directory?}"
cd "$directory" 2>/dev/null || exit 0
look() { echo "$1 $(cat "$1.facts") $(wc -lc <"$1") $(sha256sum <"$1" | cut -d ' ' -f 1)"; }
export -f look
compgen -G '*.facts' | sed 's/[.]facts$//' | xargs -r -P "$(nproc)" -I '{}' bash -c 'look {}'
