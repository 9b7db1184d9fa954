# shellcheck shell=bash
# What every script for a server begins with: the environment of its installation, whose programs are all it needs.
# Given: program (the folder of the programs).
: "${program:?}"

set +eu # an installation's own environment, where it has one; it may use variables that are not set
for file in "$program"/../*_path.sh "$program"/../*-env.sh; do
  # shellcheck source=/dev/null  # each installation has its own
  [ -e "$file" ] && . "$file" && break
done
set -eu
