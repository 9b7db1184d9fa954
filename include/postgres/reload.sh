# shellcheck shell=bash
# Have the servers that run read their configuration files again. After instances.sh.
: "${program:?}"

reload() { ! alive "$1" || "$program/pg_ctl" -D "$1" reload >/dev/null; }
all reload
