# shellcheck shell=bash
# Functions that drive pgbench, in the job's folder. After programs.sh.
# Given: where, options of psql and pgbench; dbname; clients, how many; options, pgbench's others; limit_s, after which
# pgbench is ended, or 0.
: "${where[@]?}" "${dbname?}" "${clients?}" "${options[@]?}" "${limit_s?}"
export PGPASSFILE="$PWD/pgpass" PGCONNECT_TIMEOUT=30
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
psql=$found
find_program pgbench 15
# shellcheck disable=SC2154  # as above
pgbench=$found

ask() { "$psql" "${where[@]}" --dbname="$dbname" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"; }

# pgbench and what it took of the processor, which is nothing of what follows it; $status is how it ended.
# shellcheck disable=SC2034  # status is read by the file that calls this
drive() {
  local threads command=("$pgbench")
  [ "$limit_s" = 0 ] || command=(timeout --foreground --kill-after=10 "$limit_s" "$pgbench")
  ulimit -Sn "$(ulimit -Hn)" || true  # a file for each client, and one for each log
  ask --command='\conninfo' >session.txt
  threads=$(nproc)
  [ "$threads" -le "$clients" ] || threads=$clients
  echo "threads $threads" >driver_cpu.txt
  date +%s.%N >clock.txt
  TIMEFORMAT='elapsed_s %R
user_s %U
system_s %S'
  status=0
  { time "${command[@]}" "${where[@]}" --no-vacuum "${options[@]}" \
      --client="$clients" --jobs="$threads" --log --log-prefix=log "$dbname" \
      >driver.txt 2>driver_errors.txt ; } 2>>driver_cpu.txt || status=$?
}
