# shellcheck shell=bash
# Drives streams of statements: so many sessions of psql at once, in the job's folder; stream n runs stream.n.sql.
# After programs.sh and statements_told.sh. The files before.sh and after.sh are bash of the workload's, at the begin
# and at the end, also after a failure.
# Given: where, options of psql; streams, how many; stop, 1 where a failed statement ends its stream and all others;
# keeps_answers, 1 where all answers are kept as they came; kept_bytes_max, of the first answer where they are not;
# window_s, how long streams repeat the statements of round.n.sql, in the orders of orders.n.txt, at most rounds_max times,
# or 0; questions, names of files of SQL, after.NAME.sql, that are asked at the end.
: "${where[@]?}" "${streams?}" "${stop?}" "${keeps_answers?}" "${kept_bytes_max?}" "${window_s?}" "${rounds_max?}" "${questions[@]-}"
export PGPASSFILE="$PWD/pgpass" PGCONNECT_TIMEOUT=30
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
psql=$found

ask() {
  "$psql" "${where[@]}" --no-psqlrc --quiet --no-align --tuples-only --field-separator=' ' --set=ON_ERROR_STOP=1 "$@"
}

# shellcheck disable=SC1091  # written by the job
finish() { . ./after.sh; }

trap 'trap "" TERM; exit 143' TERM  # it may come twice: to this shell, and to its group
trap 'status=$?; trap - EXIT; [ "$status" = 0 ] || ask --file=on_failure.sql >&2 || true; finish; exit "$status"' EXIT
# shellcheck disable=SC1091  # written by the job
. ./before.sh
ask --command='\conninfo' >session.txt
threads=$(nproc)
[ "$threads" -le "$streams" ] || threads=$streams
echo "threads $threads" >driver_cpu.txt
TIMEFORMAT='elapsed_s %R
user_s %U
system_s %S'
pids=()
stopped=  # the status of those that were ended because another one had failed

# Until every stream has made its file, or one has ended.
wait_for() {
  while [ "$(compgen -G "$1.*" | wc -l)" -lt "$streams" ] && [ "$(jobs -rp | wc -l)" = "$streams" ]; do
    sleep 0.02
  done
}

all_go_on() { [ "$(jobs -rp | wc -l)" = "$streams" ]; }

# The others would go on without what they wait for.
end_all() {
  stopped=143
  kill "${pids[@]}" 2>/dev/null || true
}

connect() {
  mkfifo go
  exec 8<>go  # the streams wait for its end, which comes when all of them are connected
  local n
  for n in $(seq "$streams"); do
    "$psql" "${where[@]}" --no-psqlrc --quiet --set=ON_ERROR_STOP="$stop" --file="stream.$n.sql" \
      >>"times.$n" 2>"errors.$n" </dev/null 8>&- &
    pids+=($!)
  done
  wait_for connected
  [ "$window_s" = 0 ] || warm_up
  # What connecting took of the processor is no part of what is measured. In nanoseconds: of ticks half would be lost.
  for n in "${pids[@]}"; do cat "/proc/$n/schedstat" 2>/dev/null || true; done |
    awk '{ s += $1 } END { print "connecting_s", s / 1e9 }' >>driver_cpu.txt
}

# Milliseconds of a round of the slowest stream: the mean of the $1 that it has just done, the only ones in times.n. They
# are forgotten. 0 of none.
longest_round() {
  local n
  for n in $(seq "$streams"); do
    awk -v rounds="$1" '/^Time:/ { s += $2 } END { print rounds ? s / rounds : 0 }' "times.$n"
    : >"times.$n"
    rm -f "answer.$n".*
  done | sort -g | tail -n 1
}

# The statements of round.n.sql so many times, each time in the next order; the answers of each go to files of their own.
repeat_rounds() {
  awk -v rounds="$2" 'FNR == NR { order[++orders] = $0; next }
    { line[++lines] = $0 }
    END { for (r = 1; r <= rounds; r++) {
      count = split(order[(r - 1) % orders + 1], numbers, " ")
      for (i = 1; i <= count; i++) {
        k = 2 * numbers[i] - 1
        print line[k] (line[k] ~ /^\\o answer\./ ? "." r : "")
        print line[k + 1]
      }
    } }' "orders.$1.txt" "round.$1.sql"
}

# How many rounds of $1 milliseconds fill $2 thousandths of the window: one more than needed, rounds_max at most.
rounds_that_fill() {
  awk -v round="$1" -v ms="$(($2 * window_s))" -v most="$rounds_max" 'BEGIN {
    rounds = round ? int(ms / round) + 1 : 1
    print (rounds < most ? rounds : most) }'
}

# A round that is not measured. Where it does not fill the window twice, further ones, when all is warm, tell how many do:
# they may take half as long as the first. They last a fifth of the window, because one that is short may have been held
# up. Half as many more are measured, because they vary, and get faster.
warm_up() {
  mkfifo again measured
  exec 9<>again 8>&-  # now they start, and wait for the end of this one
  wait_for once
  all_go_on || { end_all; exec 9>&-; return 0; }  # one has failed, and nothing is measured
  local n round more=0 rounds
  round=$(longest_round 1)
  if awk -v round="$round" -v ms="$((2000 * window_s))" 'BEGIN { exit !(round < ms) }'; then
    more=$(rounds_that_fill "$round" 200)
  fi
  echo "$more" >more.txt
  for n in $(seq "$streams"); do repeat_rounds "$n" "$more" >"again.$n.sql"; done
  exec 8<>measured 9>&-
  wait_for warm
  all_go_on || { end_all; return 0; }
  rounds=$(rounds_that_fill "$(longest_round "$more")" 1500)
  for n in $(seq "$streams"); do repeat_rounds "$n" "$rounds" >"rounds.$n.sql"; done
  echo "$rounds" >rounds.txt
}

# How each ended is asked by its process: "wait -n" also fails where nothing is left to wait for, and says nothing of whom.
run() {
  exec 8>&-
  local n ended status=0
  if [ "$stop" = 1 ]; then  # the first that fails ends the others
    for _ in "${pids[@]}"; do
      wait -n && continue
      if [ $? != 127 ]; then stopped=143; kill "${pids[@]}" 2>/dev/null || true; fi
      break
    done
  fi
  for n in "${!pids[@]}"; do
    ended=0
    wait "${pids[n]}" || ended=$?
    case $ended in
      0 | "$stopped") continue ;;
      127) echo "stream $((n + 1)): nobody knows how psql ended" >>ended.txt; continue ;;
      129 | 1[3-9]? | 2??) echo "stream $((n + 1)): psql was ended by signal $((ended - 128))" >>ended.txt ;;
      *) echo "stream $((n + 1)): psql ended with status $ended" >>ended.txt ;;
    esac
    status=1
  done
  return "$status"
}

connect
{ time run ; } 2>>driver_cpu.txt || { head -n 3 -q errors.* ended.txt >&2; exit 1; }
statements_told >told.txt

# Of every answer its rows and the checksum of its sorted lines; of the first also its lines. Streams and rounds mostly
# answer alike, also unsorted: then one of them is sorted.
checksums() {
  local digest file
  local -A said=()
  compgen -G 'answer.*' >/dev/null || return 0
  while read -r digest file; do
    if [ -z "${said[$digest]-}" ]; then
      LC_ALL=C sort "$file" >sorted
      if [ ${#said[@]} = 0 ] && [ "$(stat -c %s sorted)" -le "$kept_bytes_max" ]; then gzip -1 <sorted >answer.gz; fi
      said[$digest]="$(wc -l <sorted) $(sha256sum <sorted)"
    fi
    echo "$file ${said[$digest]}" >>answers.txt
    rm "$file"
  done < <(sha256sum answer.*)
  rm -f sorted
}

# An answer of a later round that is byte for byte that of the first is kept as a line: its file, and the first one.
leave_out_repeated() {
  compgen -G 'answer.*.*.2' >/dev/null || return 0
  find . -maxdepth 1 -name 'answer.*.*.*' -printf '%f\0' | xargs -0 sha256sum | awk '{
    first = $2
    sub(/[0-9]+$/, "1", first)
    digest[$2] = $1
    of[$2] = first
  } END { for (file in of) if (file != of[file] && digest[file] == digest[of[file]]) print file, of[file] }' >repeated.txt
  cut -d ' ' -f 1 repeated.txt | xargs -r rm --
}

if [ "$keeps_answers" = 1 ]; then
  leave_out_repeated
  find . -maxdepth 1 -name 'answer.*' -printf '%f\0' |
    tar -czf answers.tar.gz --null --files-from=- --remove-files
else
  checksums
fi
[ ! -s check.sql ] || ask --file=check.sql >check.txt
for name in ${questions[@]+"${questions[@]}"}; do
  "$psql" "${where[@]}" --no-psqlrc --quiet --csv --set=ON_ERROR_STOP=1 --file="after.$name.sql" >"after.$name.csv"
done
