# shellcheck shell=bash
# Says what the detached job of this folder is at, from its file "doing", and which application of a cluster that runs.
[ -e doing ] || exit 0
what=$(head -n 1 doing)
echo "$what"
grep -ho 'application_[0-9]*_[0-9]*' "$what.err" 2>/dev/null | head -n 1 || true
