# shellcheck shell=bash
# Gives a cluster back where its holder is the one that is named, and says "released" then.
# Given: directory, the work folder; lease, a folder in it; holder, as the lease's note has it: quoted.
: "${directory?}" "${lease?}" "${holder?}"
cd "$directory" 2>/dev/null || exit 0
if grep -qF "$holder" "$lease/holder" 2>/dev/null; then
  rm -rf "$lease"
  echo released
fi
