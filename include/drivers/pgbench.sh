# shellcheck shell=bash
# Functions that drive pgbench, in the job's folder. After programs.sh.
# Given: where, options of psql and pgbench; dbname; clients, how many; options, pgbench's others; limit_s, after which
# pgbench is ended, or 0; until_s and until_transactions, both of which are to be reached before pgbench ends, or 0;
# start_s, the epoch second at which it begins, or 0; linger_s, how long other drivers may take to end after this one;
# thread_each, 1 where each client is to have a thread of its own, else 0.
: "${where[@]?}" "${dbname?}" "${clients?}" "${options[@]?}" "${limit_s?}" "${until_s?}" "${until_transactions?}"
: "${start_s?}" "${linger_s?}" "${thread_each?}"
export PGPASSFILE="$PWD/pgpass" PGCONNECT_TIMEOUT=30
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
psql=$found
find_program pgbench 15
# shellcheck disable=SC2154  # as above
pgbench=$found

ask() { "$psql" "${where[@]}" --dbname="$dbname" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"; }

# Ends pgbench, whose progress it reads, when it has done enough: SIGALRM is what its own --time ends it by, so that every
# client ends what it has begun. It wakes up once a second. The rest of what pgbench says is handed on.
# Its progress counts from before clients connect, so a little more is waited for: 0.5 s, and 5 ms a client. In tenths, as
# pgbench prints them; done is in hundredths, and 1 % more than asked for, as they are rounded.
end_when_enough() {
  local line at last=0 done=0 ended='' connecting_ms=$((500 + 5 * clients))
  while IFS= read -r line; do
    if [[ ! $line =~ ^progress:\ ([0-9]+)\.([0-9])\ s,\ ([0-9]+)\.([0-9])[0-9]*\ tps ]]; then
      printf '%s\n' "$line"
      continue
    fi
    at=$((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}))
    done=$((done + 10#${BASH_REMATCH[3]}${BASH_REMATCH[4]} * (at - last)))
    last=$at
    if [ -z "$ended" ] && [ "$at" -ge $((10 * until_s)) ] && [ "$done" -ge $((101 * until_transactions)) ]; then
      sleep "$((connecting_ms / 1000)).$(printf %03d $((connecting_ms % 1000)))"
      kill -ALRM "$(cat pgbench.pid)"
      ended=yes
    fi
  done
}

# With its errors in driver_errors.txt.
run_pgbench() {
  local pid watcher ended=0
  if [ "$until_s" = 0 ]; then
    "$@" >driver.txt 2>driver_errors.txt
    return
  fi
  mkfifo progress
  end_when_enough <progress >driver_errors.txt &
  watcher=$!
  "$@" --progress=1 >driver.txt 2>progress &
  pid=$!
  echo "$pid" >pgbench.pid
  wait "$pid" || ended=$?
  while kill -0 "$pid" 2>/dev/null; do wait "$pid" || ended=$?; done  # a signal to this shell ends its waiting, too
  wait "$watcher" || true
  return "$ended"
}

await_start() {
  local left_s
  [ "$start_s" != 0 ] || return 0
  left_s=$(awk -v start="$start_s" -v now="$(date +%s.%N)" 'BEGIN { printf "%.6f", start - now }')
  case $left_s in -*) echo "$left_s" >late.txt ;; *) sleep "$left_s" ;; esac
}

# pgbench and what it took of the processor, which is nothing of what follows it; $status is how it ended.
# shellcheck disable=SC2034  # status is read by the file that calls this
drive() {
  local threads jobs command=("$pgbench")
  [ "$limit_s" = 0 ] || command=(timeout --foreground --kill-after=10 "$limit_s" "$pgbench")
  ulimit -Sn "$(ulimit -Hn)" || true  # a file for each client, and one for each log
  ask --command='\conninfo' >session.txt
  threads=$(nproc)
  [ "$threads" -le "$clients" ] || threads=$clients
  echo "threads $threads" >driver_cpu.txt
  jobs=$threads
  [ "$thread_each" = 0 ] || jobs=$clients
  await_start
  date +%s.%N >clock.txt
  TIMEFORMAT='elapsed_s %R
user_s %U
system_s %S'
  status=0
  { time run_pgbench "${command[@]}" "${where[@]}" --no-vacuum "${options[@]}" \
      --client="$clients" --jobs="$jobs" --log --log-prefix=log "$dbname" ; } 2>>driver_cpu.txt || status=$?
  sleep "$linger_s"
}
