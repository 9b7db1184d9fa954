# shellcheck shell=bash
# A function that makes pgbench's log small: log.* becomes reduced.txt and window.txt. The window begins ramp_up_s whole
# seconds after the second in which the first transaction began.
# Given: ramp_up_s, window_s; throttled, 1 where pgbench had a rate, else 0; log_kept_bytes_max, up to which the log is
# kept, compressed.
: "${ramp_up_s?}" "${window_s?}" "${throttled?}" "${log_kept_bytes_max?}"
reduce_log() {
  local begin bytes
  begin=$(head -qn 1000 log.* 2>/dev/null |
    awk -v throttled="$throttled" -v ramp_up="$ramp_up_s" -f first.awk || true)
  [ -n "$begin" ] || return 0
  # shellcheck disable=SC2016  # the inner bash expands it
  printf '%s\0' log.* | xargs -0 -P "$(nproc)" -I LOG bash -c '
    awk -v throttled="$1" -v begin="$2" -v end="$3" -f reduce.awk "$4" >"part.$4"' \
    reduce "$throttled" "$begin" "$((begin + window_s))" LOG
  cat part.* | awk -f merge.awk | sort >reduced.txt
  rm part.*
  bytes=$(cat log.* | wc -c)
  printf 'begin_s %s\nwindow_s %s\nlog_bytes %s\n' "$begin" "$window_s" "$bytes" >window.txt
  if [ "$bytes" -le "$log_kept_bytes_max" ]; then gzip -1 log.*; else rm log.*; fi
}
