# shellcheck shell=bash
# A function that makes pgbench's log small: log.* becomes reduced.txt and window.txt. The window begins ramp_up_s whole
# seconds after the second in which the first transaction began.
# Given: ramp_up_s, window_s, which is 0 where all of the log is the window; throttled and retried, 1 where pgbench had a
# rate and where it tries again, else 0; think_time_us, which each transaction sleeps at its end; log_kept_bytes_max, up
# to which the log is kept, compressed; begin_s, in which the window begins, or 0; ahead_us, by which this host's clock is
# ahead of the one that counts.
: "${ahead_us?}" "${begin_s?}" "${ramp_up_s?}" "${window_s?}" "${throttled?}" "${retried?}" "${think_time_us?}" "${log_kept_bytes_max?}"
reduce_log() {
  local begin=0 end=9999999999 bytes
  if [ "$begin_s" != 0 ]; then
    begin=$begin_s end=$((begin_s + window_s))
  elif [ "$window_s" != 0 ]; then
    begin=$(head -qn 1000 log.* 2>/dev/null |
      awk -v throttled="$throttled" -v ramp_up="$ramp_up_s" -f first.awk || true)
    [ -n "$begin" ] || return 0
    end=$((begin + window_s))
  elif ! compgen -G 'log.*' >/dev/null; then return 0; fi
  # shellcheck disable=SC2016  # the inner bash expands it
  printf '%s\0' log.* | xargs -0 -P "$(nproc)" -I LOG bash -c '
    LC_ALL=C awk -v throttled="$1" -v retried="$2" -v begin="$3" -v end="$4" -v think="$5" -v ahead="$6" \
      -f reduce.awk "$7" >"part.$7"' \
    reduce "$throttled" "$retried" "$begin" "$end" "$think_time_us" "$ahead_us" LOG
  cat part.* | awk -f merge.awk | sort >reduced.txt
  rm part.*
  bytes=$(cat log.* | wc -c)
  printf 'begin_s %s\nwindow_s %s\nlog_bytes %s\n' "$begin" "$window_s" "$bytes" >window.txt
  if [ "$bytes" -le "$log_kept_bytes_max" ]; then gzip -1 log.*; else rm log.*; fi
}
