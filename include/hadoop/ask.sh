# shellcheck shell=bash
# After it, `ask URL …` prints what a daemon's web server answers, as whoever the ticket is of.
# Given: curl_options (may be none), ticket_cache and krb5_config (empty where there is no Kerberos, or the host's own
# krb5.conf is right).
declare -a curl_options # may be none
: "${ticket_cache?}" "${krb5_config?}"

[ -z "$ticket_cache" ] || export KRB5CCNAME=FILE:$ticket_cache
[ -z "$krb5_config" ] || export KRB5_CONFIG=$krb5_config
ask() { curl -sS --fail ${curl_options[@]+"${curl_options[@]}"} "$@"; }
