# shellcheck shell=bash
# After it, `have_ticket` reads a keytab in base64 and gets a ticket by it, unless one is there that is valid for long
# enough. The keytab is a file only while kinit reads it, also where this is ended in between.
# Given: cache (the ticket's file), krb5_config (may be empty: the host's own), principal, left_s, renewable.
: "${cache:?}" "${krb5_config?}" "${principal:?}" "${left_s:?}" "${renewable:?}"

[ -z "$krb5_config" ] || export KRB5_CONFIG=$krb5_config
umask 077
# The ticket granting ticket's end, in epoch seconds; klist writes it as its locale has it, here month/day/year.
ticket_ends() {
  local day time
  read -r day time < <(klist -c "FILE:$cache" 2>/dev/null | awk '/ krbtgt\// {print $3, $4; exit}') || return 1
  date -d "$day $time" +%s
}
whose() { klist -c "FILE:$cache" | sed -n 's/^Default principal: //p'; }
have_ticket() {
  local keytab ends
  command -v kinit >/dev/null || { echo "no kinit on PATH: install krb5-user (krb5-workstation)" >&2; return 1; }
  if klist -s -c "FILE:$cache" 2>/dev/null && [ "$(whose)" = "$principal" ]; then
    ends=$(ticket_ends) && [ $((ends - $(date +%s))) -ge "$left_s" ] && return
  fi
  mkdir -p "$(dirname "$cache")"
  keytab=$(mktemp "$cache.XXXXXX")
  # shellcheck disable=SC2064  # the name of now
  trap "rm -f '$keytab'" EXIT
  trap 'exit 143' TERM INT HUP
  base64 -d >"$keytab"
  kinit -c "FILE:$cache" -r "$renewable" -k -t "$keytab" "$principal" >&2
}
