# shellcheck shell=bash
# Start a gpfdist for each load file, and wait until each accepts connections. Runs where the folder files/ is.
# Given: program_path (where gpfdist may be besides PATH), first_port, servers (how many).
: "${program_path:?}" "${first_port:?}" "${servers:?}"

PATH=$PATH:$program_path
command -v gpfdist >/dev/null || { echo "gpfdist is not installed on $(uname -n): it is not in $PATH" >&2; exit 1; }
library=$(dirname "$(command -v gpfdist)")/../lib
for n in $(seq "$servers"); do # not children of this shell, which waits for its children
  (
    LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$library" gpfdist -s -d files -p $((first_port + n - 1)) >"server.$n" 2>&1 &
    echo $! >>servers.txt
  )
done
for n in $(seq "$servers"); do
  port=$((first_port + n - 1)) pid=$(sed -n "${n}p" servers.txt)
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/localhost/$port") 2>/dev/null && break
    sleep 0.05
  done
  kill -0 "$pid" 2>/dev/null ||
    { echo "gpfdist could not start on port $port, see gpfdist_port: $(tail -n 2 "server.$n")" >&2; exit 1; }
done
