# shellcheck shell=bash
# Streams of statements that are repeated until the file "enough" is there: so many sessions of psql at once, in the job's
# folder; stream n runs stream.n.sql. After programs.sh.
# Given: where, options of psql; streams, how many.
: "${where[@]?}" "${streams?}"
export PGPASSFILE="$PWD/pgpass" PGCONNECT_TIMEOUT=30
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
psql=$found
"$psql" "${where[@]}" --no-psqlrc --quiet --command='\conninfo' >session.txt
trap 'trap "" TERM; exit 143' TERM
pids=()

running() { jobs -rp | wc -l; }

# Processor time of the sessions so far, in seconds.
cpu_s() {
  for n in "${pids[@]}"; do cat "/proc/$n/schedstat" 2>/dev/null || true; done | awk '{ s += $1 } END { print s / 1e9 }'
}

mkfifo go
exec 8<>go  # the streams wait for its end, which comes when all of them are connected
for n in $(seq "$streams"); do
  # a line at a time: what it has said is read when it is ended in the middle of a statement
  stdbuf -oL "$psql" "${where[@]}" --no-psqlrc --quiet --file="stream.$n.sql" >"times.$n" 2>"errors.$n" </dev/null 8>&- &
  pids+=($!)
done
while [ "$(compgen -G 'connected.*' | wc -l)" -lt "$streams" ] && [ "$(running)" = "$streams" ]; do sleep 0.02; done
begun_s=$(date +%s.%N) before_s=$(cpu_s)
exec 8>&-
while [ ! -e enough ] && [ "$(running)" = "$streams" ]; do sleep 0.2; done
awk -v n="$streams" -v a="$begun_s" -v b="$(date +%s.%N)" -v c="$before_s" -v d="$(cpu_s)" \
  'BEGIN { print "threads", n; print "elapsed_s", b - a; print "user_s", d - c; print "system_s 0" }' >driver_cpu.txt
[ -e enough ] || { head -n 3 -q errors.* >&2; status=1; }
kill "${pids[@]}" 2>/dev/null || true
wait || true
find . -maxdepth 1 -name 'answer.*' -printf '%f\0' | tar -czf answers.tar.gz --null --files-from=- --remove-files
exit "${status:-0}"
