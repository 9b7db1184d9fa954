# shellcheck shell=bash
# Ends the server that serve.sh has started, if it is still there. Given: directory.
: "${directory:?}"
[ -e "$directory/iperf3.pid" ] || exit 0
pid=$(tr -d '\0' <"$directory/iperf3.pid")
[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != iperf3 ] || kill "$pid"
rm -rf -- "$directory"
