# shellcheck shell=bash
# From this host, the client, to a server that waits on another: one way, or both ways at once (paper 002, p. 16). Run as a
# job. choices.sh says to which address and port, for how long, with how many streams.
# shellcheck source=/dev/null  # it is written by the job
. ./choices.sh
: "${address:?}" "${port:?}" "${window_s:?}" "${streams:?}" "${options[@]-}"
echo "sending to $address" >doing
date +%s.%N >network.begun
status=0
iperf3 -c "$address" -p "$port" -t "$window_s" -P "$streams" -J ${options[@]+"${options[@]}"} >network.json 2>network.err || status=$?
date +%s.%N >network.ended
if [ $status != 0 ]; then
  sed -n 's/.*"error": *"\(.*\)".*/\1/p' network.json >&2
  exit $status
fi
echo "done" >doing
