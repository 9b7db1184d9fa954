# shellcheck shell=bash
# Programs that are not on PATH here, one a line. Given: programs.
: "${programs[@]?}"
PATH=$PATH:/usr/sbin:/sbin
for program in "${programs[@]}"; do type -P "$program" >/dev/null || echo "$program"; done
