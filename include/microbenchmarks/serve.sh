# shellcheck shell=bash
# A server for one test, that ends by itself after it. Given: directory (made, for its number), address, port.
: "${directory:?}" "${address:?}" "${port:?}"
mkdir -p "$directory"
cd "$directory" || exit
[ ! -e iperf3.pid ] || { kill "$(tr -d '\0' <iperf3.pid)" 2>/dev/null || true; rm -f iperf3.pid; }
iperf3 -s -1 -D -B "$address" -p "$port" -I "$PWD/iperf3.pid" --logfile "$PWD/iperf3.log"
for _ in $(seq 50); do
  [ -z "$(ss -Hltn "sport = :$port")" ] || exit 0
  sleep 0.1
done
echo "iperf3 does not listen on $address:$port: $(tail -n 1 iperf3.log 2>/dev/null)" >&2
exit 1
