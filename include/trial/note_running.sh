# shellcheck shell=bash
# Notes, once, that a neighbour's job runs, and the processor time of the job's session: of what runs, and of what each
# of these had run and waited for. The name of such a process may have no blanks, as none here has.
# And what statements of the round that has not ended did. After statements_told.sh.
# Given: directory, the job's folder.
: "${directory?}"
cd "$directory" || exit
[ ! -e was ] || exit 0
echo running >was
[ -z "$(compgen -G 'round/times.*')" ] || (cd round && statements_told) >unended || true
{ cat /proc/[0-9]*/stat 2>/dev/null || true; } | awk -v session="$(cat pid)" -v ticks="$(getconf CLK_TCK)" \
  '$6 == session {s += $14 + $15 + $16 + $17} END {print s / ticks}' >cpu_s
