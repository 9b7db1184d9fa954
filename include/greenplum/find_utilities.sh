# shellcheck shell=bash
# The names of the utilities that run: they may lack the Python that they need, or the right to connect without a
# password. After cluster_environment.sh.
# Given: utilities (the names to try).
: "${program:?}" "${utilities:?}"

if "$program/psql" -h "${PGHOST:-localhost}" -w -d template1 -c "SELECT 1" >/dev/null 2>&1; then
  for each in "${utilities[@]}"; do
    "$program/$each" --version >/dev/null 2>&1 && echo "$each"
  done
fi
true
