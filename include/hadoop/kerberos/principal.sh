# shellcheck shell=bash
# The daemons' principal on this host, as its keytab has it; of several that of its address, else the first.
# Given: keytab (a file), name (of the user, before the slash), address (the host's).
: "${keytab:?}" "${name:?}" "${address:?}"

command -v klist >/dev/null || { echo "no klist on PATH: install krb5-user (krb5-workstation)" >&2; exit 1; }
[ -r "$keytab" ] || { echo "no keytab $keytab that $(id -un) may read" >&2; exit 1; }
klist -k "$keytab" | awk -v name="$name/" -v own="$name/$address@" '
  index($2, name) == 1 && (found == "" || index($2, own) == 1) {found = $2}
  END {
    if (found == "") {print "no principal " name "… in the keytab" >"/dev/stderr"; exit 1}
    print found
  }'
